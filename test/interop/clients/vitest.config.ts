import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const here = fileURLToPath(new URL('.', import.meta.url))
const source = (file: string) => fileURLToPath(new URL(`../../../src/${file}`, import.meta.url))

// Apart from npm test, because it needs a package of its own: npm run test:clients installs it.
export default defineConfig({
  root: here,
  resolve: {
    alias: [
      { find: /^resilient-sse$/, replacement: source('index.ts') },
      { find: /^resilient-sse\/testing$/, replacement: source('testing/index.ts') },
    ],
  },
  test: {
    include: ['*.test.ts'],
    testTimeout: 60_000,
    // Most of the time is spent waiting.
    maxConcurrency: 8,
    maxWorkers: 2,
  },
})
