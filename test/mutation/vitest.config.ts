import { fileURLToPath } from 'node:url'
import { mergeConfig } from 'vitest/config'
import base from '../../vitest.config.ts'

export default mergeConfig(base, {
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    // A mutant that makes a test hang is killed when its time is up; on a virtual clock nothing else takes that long.
    testTimeout: 4_000,
  },
})
