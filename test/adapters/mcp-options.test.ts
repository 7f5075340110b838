import { Breaker, SseError } from 'resilient-sse'
import { type McpFetchOptions, mcpFetch } from 'resilient-sse/mcp'
import { expect, test } from 'vitest'

const refusal = (options: unknown): string => {
  try {
    mcpFetch(options as McpFetchOptions)
    return 'not refused'
  } catch (error) {
    expect(error).toBeInstanceOf(SseError)
    expect(error).toHaveProperty('code', 'ERR_SSE_OPTION')
    return (error as SseError).message
  }
}

test.each<[unknown, RegExp]>([
  [null, /^options: not an object$/],
  [{ resume: {} }, /^resume: not an option; there are fetch, tcp, /],
  [{ fetch: fetch, tcp: {} }, /^tcp: /],
  [{ fetch: 'undici' }, /^fetch: /],
  [{ tcp: { keepAliveDelayMs: 'soon' } }, /^tcp\.keepAliveDelayMs: /],
  [{ heartbeat: { timeoutMs: 1 } }, /^heartbeat\.timeoutMs: /],
  [{ backoff: { maxAttempts: 0 } }, /^backoff\.maxAttempts: /],
  [{ breaker: { threshold: 0 } }, /^breaker\.threshold: /],
  [{ dedupe: { capacity: 0 } }, /^dedupe\.capacity: /],
  [{ dedupe: { by: 'id' } }, /^dedupe\.by: cannot take effect/],
  [{ openTimeoutMs: 1 }, /^openTimeoutMs: /],
  [{ maxEventChars: 0 }, /^maxEventChars: /],
  [{ forwardEventIds: 'yes' }, /^forwardEventIds: /],
  [{ resendTool: ['search'] }, /^resendTool: /],
  [{ onLifecycle: 'log' }, /^onLifecycle: /],
])('%o is refused when the fetch is made', (options, message) => {
  expect(refusal(options)).toMatch(message)
})

test('every option may be given, and none has to be', () => {
  expect(typeof mcpFetch()).toBe('function')
  const options: McpFetchOptions = {
    tcp: false,
    heartbeat: false,
    backoff: { baseMs: 10 },
    breaker: new Breaker(),
    dedupe: false,
    openTimeoutMs: 1_000,
    maxEventChars: 1_000,
    forwardEventIds: true,
    resendTool: () => false,
    onLifecycle: () => {},
  }
  expect(refusal(options)).toBe('not refused')
  expect(refusal({ fetch })).toBe('not refused')
})
