import { fileURLToPath } from 'node:url'
import type { ViteUserConfig } from 'vitest/config'
import base from '../../vitest.config.ts'

// Tests that run in threads, as here, cannot choose it: far from Greenwich, so that local time is not taken for UTC.
process.env.TZ = 'America/St_Johns'

export default {
  ...base,
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    ...base.test,
    // On a virtual clock, or on sockets where no time passes: each mutant runs all of them that reach it.
    include: [
      'test/*.test.ts',
      'test/layers/*.test.ts',
      'test/client/*.test.ts',
      'test/hostile/{dispatcher,input,late,replay}.test.ts',
    ],
    // A mutant that makes a test hang is killed when its time is up; on a virtual clock nothing else takes that long.
    testTimeout: 4_000,
  },
} satisfies ViteUserConfig
