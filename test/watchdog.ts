import type { SseHeartbeatError } from '../src/errors.ts'
import {
  HEARTBEAT_DEFAULTS,
  PROBE_DEFAULTS,
  type ResolvedHeartbeat,
  type ResolvedProbe,
  Rhythm,
} from '../src/layers/heartbeat.ts'
import { Watchdog } from '../src/watchdog.ts'

export type Given = Partial<Omit<ResolvedHeartbeat, 'probe'>> & {
  probe?: Partial<ResolvedProbe> & Pick<ResolvedProbe, 'send'>
}

/** A watchdog over a connection whose reader waits, on a clock that the test moves. */
export class Watch {
  readonly rhythm = new Rhythm()
  readonly stalls: string[] = []
  readonly watchdog: Watchdog
  death: SseHeartbeatError | undefined
  nowMs = 0

  constructor({ probe, ...given }: Given = {}) {
    const options = {
      ...HEARTBEAT_DEFAULTS,
      eventTimeoutMs: 0,
      ...given,
      probe: probe && { ...PROBE_DEFAULTS, ...probe },
    }
    this.watchdog = new Watchdog(options, this.rhythm, {
      stall: (phase, silentMs) => this.stalls.push(`${phase} ${silentMs}`),
      dead: error => {
        this.death = error
      },
    })
    this.watchdog.reading = true
  }

  /** Time passes, in looks of one period; returns when death was declared, in ms since the start. */
  pass(ms: number, each?: () => void): number | undefined {
    const period = this.watchdog.periodMs
    for (let passed = 0; passed < ms && this.death === undefined; passed += period) {
      this.nowMs += period
      each?.()
      if (this.watchdog.look(period)) this.watchdog.judge()
    }
    return this.death && this.nowMs
  }

  bytes(): void {
    this.watchdog.sawBytes = true
  }

  comment(): void {
    this.bytes()
    this.rhythm.comment(this.nowMs)
  }

  event(): void {
    this.bytes()
    this.watchdog.sawEvents = true
  }
}
