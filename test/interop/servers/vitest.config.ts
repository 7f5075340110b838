import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const here = fileURLToPath(new URL('.', import.meta.url))
const source = (file: string) => fileURLToPath(new URL(`../../../src/${file}`, import.meta.url))

// Apart from npm test, because it needs a package of its own: npm run test:servers installs it.
export default defineConfig({
  root: here,
  resolve: {
    alias: [
      { find: /^resilient-sse$/, replacement: source('index.ts') },
      { find: /^resilient-sse\/testing$/, replacement: source('testing/index.ts') },
      { find: /^resilient-sse\/stores\/file$/, replacement: source('stores/file.ts') },
    ],
  },
  test: {
    include: ['*.test.ts'],
    globalSetup: ['setup.ts'],
    testTimeout: 60_000,
    // All frameworks side by side: most of the time is spent waiting.
    maxConcurrency: 5,
    maxWorkers: 2,
  },
})
