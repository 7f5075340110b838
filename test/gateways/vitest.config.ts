import base from '../../vitest.config.ts'

// Apart from npm test: it needs nginx, Caddy and HAProxy, and a minute of events.
export default {
  ...base,
  test: {
    include: ['test/gateways/**/*.test.ts'],
    testTimeout: 120_000,
    // Side by side: most of the time is spent waiting. Not all at once: it begins with the start of a process.
    maxConcurrency: 8,
    maxWorkers: 3,
  },
}
