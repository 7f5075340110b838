import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (file: string) => fileURLToPath(new URL(`../../../src/${file}`, import.meta.url))

// Apart from npm test for its length: npm run test:mcp.
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  resolve: {
    alias: [
      { find: /^resilient-sse$/, replacement: source('index.ts') },
      { find: /^resilient-sse\/mcp$/, replacement: source('adapters/mcp/index.ts') },
      { find: /^resilient-sse\/testing$/, replacement: source('testing/index.ts') },
    ],
  },
  test: { include: ['*.test.ts'], testTimeout: 60_000, maxWorkers: 2, maxConcurrency: 10 },
})
