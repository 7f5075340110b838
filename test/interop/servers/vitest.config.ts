import { interopConfig } from '../config.ts'

// All frameworks side by side: most of the time is spent waiting.
export default interopConfig(import.meta.url, { globalSetup: ['setup.ts'], maxConcurrency: 5 })
