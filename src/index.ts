export { Agent, Dispatcher, EnvHttpProxyAgent, ProxyAgent } from 'undici'
// What there is on every platform. The classes above fit the `dispatcher` option, which a browser does not have.
export * from './index.browser.ts'
