import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const here = fileURLToPath(new URL('.', import.meta.url))
const source = (file: string) => fileURLToPath(new URL(`../../src/${file}`, import.meta.url))

// Apart from npm test, because it needs a Chromium: npm run test:browser. What runs in pages is the build in dist/browser.
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
    hookTimeout: 60_000,
    // Most of their time the tests wait for a server that is out of order.
    maxConcurrency: 8,
    // One browser at a time: two of them on two cores make each other's timers late.
    fileParallelism: false,
  },
})
