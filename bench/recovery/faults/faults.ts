import {
  answer,
  cut,
  cutInside,
  type EventLogOptions,
  end,
  flapping,
  garbage,
  headersOnly,
  heartbeats,
  ignoreId,
  noHeaders,
  refuse,
  replay,
  reset,
  rest,
  retry,
  type Step,
  send,
  silence,
  stay,
} from 'resilient-sse/testing'

export interface Fault {
  name: string
  /** One script a request; {@link HEALTHY} afterwards. */
  script: Step[][]
  ids?: NonNullable<EventLogOptions['ids']>
}

export const COUNT = 60
const BEFORE = 20

/** A healthy stream for who has shortened its patience: all that is missing, and a sign of life. */
export const HEALTHY: Step[] = [heartbeats({ everyMs: 200 }), rest(), stay()]

/** Some events, then what goes wrong. The server's own pace, so that no client's default decides how soon it dials. */
const after = (...fault: Step[]): Step[] => [retry('101'), send(BEFORE), ...fault]
/** The connection breaks, and what answers the next dial is no stream, or not the one that was asked for. */
const then = (...answers: Step[][]): Step[][] => [after(cut()), ...answers]

const BAD_GATEWAY = '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'

/** In each of them a server that can be resumed has all events ready. */
export const FAULTS: Fault[] = [
  { name: 'reset between two events', script: [after(reset())] },
  { name: 'FIN without the last chunk', script: [after(cut())] },
  { name: 'FIN inside an event', script: [after(cutInside('event'))] },
  { name: 'reset inside a UTF-8 character', script: [after(cutInside('character', { by: 'rst' }))] },
  { name: 'polite end', script: [after(end())] },
  { name: 'silence on an open socket', script: [after(silence())] },
  { name: 'headers, then silence', script: then([headersOnly()]) },
  { name: 'request never answered', script: then([noHeaders()]) },
  { name: 'port refuses for 300 ms', script: [after(cut(), refuse(300))] },
  { name: '503', script: then([answer(503)]) },
  { name: '429 with Retry-After: 1', script: then([answer(429, { headers: { 'retry-after': '1' } })]) },
  { name: "a gateway's 502 page", script: then([answer(502, { body: BAD_GATEWAY })]) },
  { name: 'login page with status 200', script: then([answer(200, { body: '<title>Sign in</title>' })]) },
  { name: 'answer that is not HTTP', script: then([garbage()]) },
  { name: 'greeting and reset, twice', script: then(flapping('greeting'), flapping('greeting')) },
  { name: 'replay that overlaps by ten', script: then([replay({ overlap: 10 }), ...HEALTHY]) },
  { name: 'replay of everything', script: then([ignoreId(), ...HEALTHY]) },
  { name: 'ids beyond Latin-1', script: [after(cut())], ids: 'non-latin-1' },
]

export const logOptions = ({ ids = 'opaque' }: Fault): EventLogOptions => ({ count: COUNT, ids, seed: 11 })
