import { describe, expect, test } from 'vitest'
import { patience } from '../../../src/adapters/mcp/patience.ts'

type Rhythm = { autoMs: number; learned: boolean }

describe('the watchdog of a call', () => {
  const told = (canResume: boolean, rhythm: Rhythm) => {
    const heartbeat = patience(undefined, () => canResume)
    if (heartbeat === false || typeof heartbeat.timeoutMs !== 'function') throw new Error('not a function')
    return heartbeat.timeoutMs(rhythm)
  }
  const unknown: Rhythm = { autoMs: 120_000, learned: false }
  const learned: Rhythm = { autoMs: 30_000, learned: true }

  test('ends a silent leg that can be resumed, which costs nothing', () => {
    expect([told(true, unknown), told(true, learned)]).toEqual([120_000, 30_000])
  })

  test('leaves one alone that cannot be resumed, unless heartbeats had been heard and stopped', () => {
    expect([told(false, unknown), told(false, learned)]).toEqual([0, 30_000])
  })

  test('is what the host says it is', () => {
    expect(patience(false, () => true)).toBe(false)
    expect(patience({ timeoutMs: 5_000 }, () => false)).toEqual({ timeoutMs: 5_000 })
    expect(patience({ timeoutMs: 0 }, () => true)).toEqual({ timeoutMs: 0 })
  })
})
