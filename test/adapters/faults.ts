import {
  answer,
  cutInside,
  eventLog,
  headersOnly,
  ignoreId,
  noHeaders,
  replay,
  reset,
  type Step,
  send,
  silence,
} from 'resilient-sse/testing'

export const LOG = { count: 60, ids: 'opaque', bytes: [20, 5_000], seed: 5 } as const
export const log = eventLog(LOG)

export interface Fault {
  name: string
  /** From the first dial on; the last connection sends the rest. Each begins where the one before it was lost. */
  script: Step[][]
  /** How many events the client had at each of these dials, and at the last one. */
  had: number[]
  openTimeoutMs?: number
}

/** The cursor of each dial. */
export const cursors = ({ had }: Fault) => had.map(count => (count === 0 ? undefined : log.idAt(count - 1)))

const LOST = [send(20), reset()]

/** What every adapter resumes, nothing lost and nothing doubled. */
export const FAULTS: Fault[] = [
  { name: 'a reset between two events', script: [LOST], had: [0, 20] },
  { name: 'a FIN inside an event', script: [[send(20), cutInside('event')]], had: [0, 20] },
  { name: 'a FIN inside a character', script: [[send(20), cutInside('character')]], had: [0, 20] },
  { name: 'silence on an open socket', script: [[send(20), silence()]], had: [0, 20] },
  { name: 'headers, then nothing', script: [LOST, [headersOnly()]], had: [0, 20, 20] },
  {
    name: 'a request that is never answered',
    script: [LOST, [noHeaders()]],
    had: [0, 20, 20],
    openTimeoutMs: 200,
  },
  {
    name: '503, 429 with Retry-After, and a gateway’s page with status 200',
    script: [
      LOST,
      [answer(503)],
      [answer(429, { headers: { 'retry-after': '0' } })],
      [answer(200, { body: '<html>' })],
    ],
    had: [0, 20, 20, 20, 20],
  },
  {
    name: 'a replay that overlaps by ten events, the last one included',
    script: [LOST, [replay({ overlap: 10 }), send(30), reset()]],
    had: [0, 20, 40],
  },
  {
    name: 'a replay of everything',
    script: [LOST, [ignoreId(), send(50), reset()]],
    had: [0, 20, 50],
  },
]
