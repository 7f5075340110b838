import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (file: string) => fileURLToPath(new URL(`../../../src/${file}`, import.meta.url))

// Apart from npm test, because it needs a package of its own: npm run test:eventsource installs it.
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  resolve: {
    alias: [
      { find: /^resilient-sse$/, replacement: source('index.ts') },
      { find: /^resilient-sse\/eventsource$/, replacement: source('adapters/eventsource.ts') },
      { find: /^resilient-sse\/testing$/, replacement: source('testing/index.ts') },
    ],
  },
  test: {
    include: ['*.test.ts'],
    testTimeout: 60_000,
    maxConcurrency: 4,
    // event-source-polyfill drops the promise of a reader that it cancels after a reset.
    onUnhandledError: ({ message }) => message !== 'terminated',
  },
})
