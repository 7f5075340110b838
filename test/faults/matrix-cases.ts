import type { ResilientSseOptions } from 'resilient-sse'
import {
  answer,
  closeDelimited,
  comment,
  contentLength,
  cut,
  cutInside,
  dribble,
  end,
  event,
  flapping,
  garbage,
  headers,
  headersOnly,
  heartbeats,
  ignoreId,
  lineEnding,
  noHeaders,
  oneChunkPerEvent,
  raw,
  redirect,
  refuse,
  replay,
  reset,
  retry,
  type Step,
  send,
  silence,
} from 'resilient-sse/testing'
import { QUICK_RETRY } from './support.ts'

/** One connection of a case: its script, and how many new events of the log it brings. */
export interface Leg {
  script: Step[]
  brings: number
}

/** A fault with a right recovery, as the connections from `count` events before it to the dial that goes on. */
export interface Recoverable {
  name: string
  legs: (count: number, place: { url: string; elsewhere: string; replayed: number }) => Leg[]
  options?: ResilientSseOptions
  /** How the server answers the dial after the fault with events that were sent before: the last so many of them. */
  replays?: { words: Step[]; again: (sent: number) => number }
  /** Events outside the log that each fault delivers, all three together. */
  extras?: string[]
  gaps?: string[]
  tls?: boolean
}

const leg = (brings: number, ...script: Step[]): Leg => ({ brings, script })
/** `count` events, then a death of the common kind, then answers that are no stream. */
const then = (count: number, ...answers: Step[][]): Leg[] => [
  leg(count, send(count), cut()),
  ...answers.map(script => leg(0, ...script)),
]
const simple = (
  name: string,
  before: Step[],
  last: Step[],
  more: Partial<Recoverable> = {},
): Recoverable => ({
  name,
  legs: (count, { replayed }) => [leg(count, ...before, send(replayed + count), ...last)],
  ...more,
})

const BAD_GATEWAY = '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'
const LOGIN = '<!doctype html><title>Sign in</title>'

export const RECOVERABLE: Recoverable[] = [
  simple('a reset between two events', [], [reset()]),
  simple('a FIN without the last chunk', [], [cut()]),
  simple('a polite end', [retry(QUICK_RETRY)], [end()]),
  simple(
    'a polite end right after a block that has no blank line',
    [retry(QUICK_RETRY)],
    [raw('id: never\ndata: never delivered\n'), end()],
  ),
  simple('a FIN inside an event', [], [cutInside('event')]),
  simple('a reset inside an event', [], [cutInside('event', { by: 'rst' })]),
  simple('a FIN inside a UTF-8 character', [], [cutInside('character')]),
  simple('a reset inside a UTF-8 character', [], [cutInside('character', { by: 'rst' })]),
  simple('a FIN between CR and LF', [lineEnding('\r\n')], [cutInside('crlf')]),
  simple(
    'a FIN inside an event of a stream that ends its lines with CR',
    [lineEnding('\r')],
    [cutInside('event')],
  ),
  simple('silence on an open socket', [], [silence()]),
  simple('silence after heartbeats', [], [heartbeats({ everyMs: 20, count: 3 }), silence()]),
  simple('a reset after comments', [comment('hello')], [comment('bye'), reset()]),
  simple('a reset of a stream that is written one event a chunk', [oneChunkPerEvent()], [reset()]),
  simple('a FIN of a body without framing', [closeDelimited()], [cut()]),
  simple('a reset of a body without framing', [closeDelimited()], [reset()]),
  simple('a FIN before Content-Length is reached', [contentLength()], [cut()]),
  simple('a FIN of a chunked body that says Connection: close', [headers({ connection: 'close' })], [cut()]),
  simple('a FIN of a TLS stream without close_notify', [], [cut()], { tls: true }),
  simple('a reset of a TLS stream inside an event', [], [cutInside('event', { by: 'rst' })], { tls: true }),
  {
    name: 'a FIN while the last events come in pieces of seven bytes',
    legs: count => [leg(count, send(count - 1), dribble({ bytes: 7 }), send(1), cut())],
  },
  {
    name: 'a request that is never answered',
    legs: count => then(count, [noHeaders()]),
    options: { openTimeoutMs: 150 },
  },
  { name: 'headers, then nothing', legs: count => then(count, [headersOnly()]) },
  { name: 'a port that refuses for a while', legs: count => [leg(count, send(count), cut(), refuse(60))] },
  { name: '503', legs: count => then(count, [answer(503)]) },
  {
    name: '429 with Retry-After in seconds',
    legs: count => then(count, [answer(429, { headers: { 'retry-after': '0' } })]),
  },
  {
    name: '503 with Retry-After as a date',
    legs: count =>
      then(count, [answer(503, { headers: { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' } })]),
  },
  {
    name: '500, 504, 408 and 425 in a row',
    legs: count => then(count, [answer(500)], [answer(504)], [answer(408)], [answer(425)]),
  },
  { name: "a gateway's 502 page", legs: count => then(count, [answer(502, { body: BAD_GATEWAY })]) },
  {
    name: 'a login page with status 200 in the way',
    legs: count => then(count, [answer(200, { body: LOGIN })]),
  },
  { name: 'an answer that is not HTTP', legs: count => then(count, [garbage()]) },
  { name: 'a reset without an answer', legs: count => then(count, [reset()]) },
  { name: 'a FIN without an answer', legs: count => then(count, [cut()]) },
  { name: 'a redirect within the origin', legs: (count, { url }) => then(count, [redirect(url)]) },
  {
    name: 'a redirect to another origin',
    legs: (count, { elsewhere }) => then(count, [redirect(elsewhere, 307)]),
  },
  {
    name: 'a token that expired',
    legs: count => then(count, [answer(401)]),
    options: { headers: async () => ({ authorization: 'Bearer fresh' }) },
  },
  simple('a replay that overlaps by twenty events', [], [cut()], {
    replays: { words: [replay({ overlap: 20 })], again: () => 20 },
  }),
  simple('a replay of everything from the first event', [], [reset()], {
    replays: { words: [ignoreId()], again: sent => sent },
    gaps: ['cursor-ignored', 'cursor-ignored', 'cursor-ignored'],
  }),
  {
    name: 'flapping: one event, then the end',
    legs: count => [
      leg(count, retry(QUICK_RETRY), send(count), end()),
      leg(1, ...flapping('event')),
      leg(1, ...flapping('event')),
    ],
  },
  {
    name: 'flapping: a greeting, then a reset',
    legs: count => then(count, flapping('greeting'), flapping('greeting')),
    extras: Array.from({ length: 6 }, () => 'welcome'),
  },
  {
    name: 'flapping: retry: 0 and an error event, then the end',
    // Without its own pace (over 100 ms) each clean end costs a second.
    legs: count => then(count, [...flapping('error').slice(0, -1), retry(QUICK_RETRY), end()]),
    extras: Array.from({ length: 3 }, () => 'internal error'),
  },
  {
    name: 'a FIN after an event without an id',
    legs: count => [leg(count, send(count), event({ data: 'no id' }), cut())],
    extras: Array.from({ length: 3 }, () => 'no id'),
  },
]
