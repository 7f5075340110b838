import { interopConfig } from '../config.ts'

// Most of the time is spent waiting. A server that is kept busy for 2 s is cut by the gateway.
export default interopConfig(import.meta.url, { maxConcurrency: 6 })
