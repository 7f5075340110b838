import { mergeConfig } from 'vitest/config'
import base from '../../vitest.config.ts'

// Apart from npm test, which has ten runs of it: fifty take half a minute. Their counts are printed.
export default mergeConfig(base, {
  test: {
    env: { CURSOR_RUNS: process.env.CURSOR_RUNS ?? '50' },
    disableConsoleIntercept: true,
  },
})
