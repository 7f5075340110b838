import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^resilient-sse$/, replacement: source('index.ts') },
      { find: /^resilient-sse\/testing$/, replacement: source('testing/index.ts') },
      { find: /^resilient-sse\/stores\/file$/, replacement: source('stores/file.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    maxWorkers: 2,
  },
})
