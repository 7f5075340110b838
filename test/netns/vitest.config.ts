import { defineConfig } from 'vitest/config'

// Apart from npm test: it needs root, network namespaces and half a minute of real silence.
export default defineConfig({
  test: { include: ['test/netns/**/*.test.ts'], testTimeout: 90_000, hookTimeout: 30_000 },
})
