import type { LifecycleEvent, SseStats } from 'resilient-sse'
import { describe, expect, it } from 'vitest'
import { line, table } from '../../src/cli/live/table.ts'
import { type View, Watch } from '../../src/cli/live/watch.ts'
import { age, bytes, columns, sized, sizedMiddle } from '../../src/cli/terminal.ts'
import { createStats } from '../../src/stats.ts'
import { hasControls } from './cli.ts'

const plain = (_: string, text: string) => text

/** A stream that does what it is told to, and the clock. */
class Played {
  now = 0
  lastEventId: string | undefined
  counters: SseStats = createStats()
  readonly watch = new Watch(() => this.now)

  constructor() {
    this.watch.follow(this)
  }

  stats(): SseStats {
    return structuredClone(this.counters)
  }

  tell(type: LifecycleEvent['type'], body: object = {}): void {
    this.watch.tell({ type, at: this.now, ...body } as LifecycleEvent)
  }

  drop(reason: string, message = 'gone'): void {
    this.tell('drop', { reason, error: new Error(message), opened: true })
  }

  get view(): View {
    return this.watch.view() as View
  }

  /** So long, looked at as often as the screen does. */
  pass(ms: number, eventsPerLook = 0): void {
    for (const end = this.now + ms; this.now < end; this.now += 100) {
      this.counters.events += eventsPerLook
      this.counters.bytes += 50 * eventsPerLook
      this.watch.look()
    }
  }
}

describe('the live view', () => {
  it('knows the state, and how long it has lasted', () => {
    const stream = new Played()
    expect(stream.view.state).toBe('idle')
    stream.tell('dial', { url: 'http://a.test/', attempt: 1 })
    stream.now = 300
    stream.tell('open', { url: 'http://b.test/' })
    stream.now = 5_300
    expect(stream.view).toMatchObject({ state: 'open', stateMs: 5_000, url: 'http://b.test/' })
    stream.drop('network')
    stream.tell('wait', { delayMs: 2_000, reason: 'retry-after' })
    stream.now = 6_300
    expect(stream.view).toMatchObject({ state: 'waiting', wait: { reason: 'retry-after', leftMs: 1_000 } })
    expect(table(stream.view, plain)[0]).toBe(
      '◌ waiting, next dial in 1.0 s (as the server asks)  http://b.test/',
    )
    stream.tell('close', { reason: 'end' })
    stream.now = 60_000
    expect(table(stream.view, plain)[0]).toBe('○ closed after 6.3 s: the server said so  http://b.test/')
  })

  it('counts each dial after a loss under the cause of that loss', () => {
    const stream = new Played()
    stream.tell('dial', { url: '', attempt: 1 })
    for (const reason of ['network', 'refused', 'refused', 'end']) {
      stream.drop(reason)
      stream.tell('dial', { url: '', attempt: 1 })
    }
    // Nothing was dialled after it.
    stream.drop('silence')
    expect(table(stream.view, plain)[3]).toBe('  reconnects 4 · end 1 · network 1 · refused 2')
  })

  it('has rates of the last three seconds, and the age of the last byte', () => {
    const stream = new Played()
    stream.pass(10_000, 2)
    expect(stream.view.eventsPerS).toBeCloseTo(20, -1)
    expect(stream.view.bytesPerS).toBeCloseTo(1_000, -2)
    stream.pass(1_500)
    expect(stream.view.lastByteMs).toBeCloseTo(1_600, -2)
    expect(stream.view.eventsPerS).toBeCloseTo(10, -1)
    stream.pass(3_000)
    expect(stream.view.eventsPerS).toBe(0)
    stream.now = 20_000
    stream.tell('close', { reason: 'closed' })
    expect(stream.view.eventsPerS).toBe(10)
  })

  it('tells of gaps, the breaker and the last loss', () => {
    const stream = new Played()
    stream.counters.resume.gaps = 2
    stream.counters.breaker.state = 'half-open'
    stream.counters.backoff.failures = 7
    stream.tell('dial', { url: 'http://a.test/', attempt: 3 })
    stream.drop('refused', 'http://a.test/ answered 503')
    stream.tell('gap', { reason: 'cursor-ignored' })
    stream.now = 4_000
    const lines = table(stream.view, plain)
    expect(lines[0]).toContain('connecting, attempt 3')
    expect(lines[4]).toContain('gaps       2, last: cursor-ignored')
    expect(lines[5]).toContain('half-open · 7 failures')
    expect(lines[6]).toBe('  last loss  4.0 s ago, refused: answered 503')
  })

  const hostile = {
    'escape sequences': '\x1b[2J\x07\r\n\t',
    'C1 and turned text': '\x9b2J\u202e',
    'wide characters': '豆腐'.repeat(50),
    emoji: '🚂'.repeat(99),
    'combined characters': '👩‍🔬e\u0301 '.repeat(40),
    'half a character': '\ud800',
  }

  it.for(Object.entries(hostile))('stays in its columns, and without control characters: %s', ([, text]) => {
    const stream = new Played()
    stream.lastEventId = text
    stream.counters.events = stream.counters.bytes = Number.MAX_SAFE_INTEGER
    stream.counters.dedupe.duplicates = Number.MAX_SAFE_INTEGER
    stream.tell('dial', { url: `http://a.test/${text}`, attempt: 1 })
    stream.drop('network', text)
    for (const width of [79, 60, 40]) {
      for (const one of table(stream.view, plain, width)) {
        expect(columns(one), one).toBeLessThanOrEqual(width)
        expect(hasControls(one), one).toBe(false)
      }
    }
    expect(hasControls(line(stream.view))).toBe(false)
    expect(line(stream.view)).not.toMatch(/\n|\u202e/)
  })
})

describe('texts in columns', () => {
  it('are padded, or cut where it hurts least', () => {
    expect(sized('abc', 5)).toBe('abc  ')
    expect(sized('abcdef', 5)).toBe('abcd…')
    expect(sizedMiddle('01JZW3K8Q4M9X2', 9)).toBe('01JZ…M9X2')
    expect(sized('豆腐豆腐', 5)).toBe('豆腐…')
    expect(columns('e\u0301豆')).toBe(3)
  })

  it('amounts and ages are short', () => {
    expect([0, 999, 1_000, 12_345, 999_999, 5e9].map(bytes)).toEqual([
      '0 B',
      '999 B',
      '1.00 kB',
      '12.3 kB',
      '1.00 MB',
      '5.00 GB',
    ])
    expect([40, 9_949, 59_400, 60_000, 200_000, 7_500_000, 1e8].map(age)).toEqual([
      '0.0 s',
      '9.9 s',
      '59 s',
      '1 min',
      '3 min 20 s',
      '2 h 5 min',
      '1 d 3 h',
    ])
  })
})
