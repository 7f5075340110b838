import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

const source = (file: string) => fileURLToPath(new URL(`../../src/${file}`, import.meta.url))

/** The tests beside a vitest.config.ts, apart from npm test because they take long or need packages of their own. */
export function interopConfig(config: string, test: ViteUserConfig['test']): ViteUserConfig {
  return defineConfig({
    root: fileURLToPath(new URL('.', config)),
    resolve: {
      alias: [
        { find: /^resilient-sse$/, replacement: source('index.ts') },
        { find: /^resilient-sse\/eventsource$/, replacement: source('adapters/eventsource.ts') },
        { find: /^resilient-sse\/mcp$/, replacement: source('adapters/mcp/index.ts') },
        { find: /^resilient-sse\/testing$/, replacement: source('testing/index.ts') },
        { find: /^resilient-sse\/stores\/file$/, replacement: source('stores/file.ts') },
      ],
    },
    test: {
      include: ['*.test.ts'],
      testTimeout: 60_000,
      expect: { poll: { timeout: 10_000 } },
      maxWorkers: 2,
      ...test,
    },
  })
}
