import { interopConfig } from '../config.ts'

// Most of the time is spent waiting.
export default interopConfig(import.meta.url, { maxConcurrency: 8 })
