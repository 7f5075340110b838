import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// The fault matrix runs the same tests against a package installed from the packed tarball: test/package/matrix.mjs.
const installed = process.env.RESILIENT_SSE_PACKAGE

function entry(source: string, built: string): string {
  if (!installed) return fileURLToPath(new URL(`./src/${source}`, import.meta.url))
  const path = `${installed}/dist/${built}`
  if (!existsSync(path)) throw new Error(`RESILIENT_SSE_PACKAGE: no ${path}`)
  return path
}

export default defineConfig({
  resolve: {
    alias: [
      { find: /^resilient-sse$/, replacement: entry('index.ts', 'index.js') },
      {
        find: /^resilient-sse\/eventsource$/,
        replacement: entry('adapters/eventsource.ts', 'eventsource.js'),
      },
      { find: /^resilient-sse\/mcp$/, replacement: entry('adapters/mcp/index.ts', 'mcp.js') },
      { find: /^resilient-sse\/testing$/, replacement: entry('testing/index.ts', 'testing.js') },
      { find: /^resilient-sse\/stores\/file$/, replacement: entry('stores/file.ts', 'stores/file.js') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    // Apart from npm test: netns needs root and half a minute of silence, gateways needs nginx, Caddy and HAProxy, interop
    // packages of its own, browser Chromium.
    exclude: [
      '**/node_modules/**',
      'test/netns/**',
      'test/gateways/**',
      'test/interop/**',
      'test/browser/**',
    ],
    testTimeout: 30_000,
    // A second is little on a machine that is busy.
    expect: { poll: { timeout: 10_000 } },
    maxWorkers: 2,
  },
})
