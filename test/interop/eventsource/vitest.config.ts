import { interopConfig } from '../config.ts'

export default interopConfig(import.meta.url, {
  maxConcurrency: 4,
  // event-source-polyfill drops the promise of a reader that it cancels after a reset.
  onUnhandledError: ({ message }) => message !== 'terminated',
})
