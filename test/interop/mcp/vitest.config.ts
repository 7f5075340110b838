import { interopConfig } from '../config.ts'

export default interopConfig(import.meta.url, { maxConcurrency: 10 })
