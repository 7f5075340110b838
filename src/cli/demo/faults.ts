import {
  answer,
  type ConnectionScript,
  closeDelimited,
  contentLength,
  cut,
  cutInside,
  dribble,
  end,
  flapping,
  forget,
  garbage,
  headersOnly,
  heartbeats,
  hold,
  lineEnding,
  noHeaders,
  redirect,
  refuse,
  replay,
  reset,
  retry,
  type Step,
  type StepName,
  send,
  silence,
} from '../../testing/index.ts'

/** What a fault is told about the place where it strikes. */
export interface Place {
  /** Index of the event that would have come next. */
  at: number
  /** A number of events that is small beside the distance to the next fault. */
  few: number
  /** Another origin that is the same server. */
  elsewhere: string
}

/** One kind of fault as words for the server. */
export interface Fault {
  /** At most 26 characters: the table has 80 columns. */
  name: string
  /** The word that is the fault itself; the server's record of it tells when and where it struck. */
  word: StepName
  /** Words at the start of the connection that is going to break. */
  before?: Step[]
  /** What ends that connection. Default `cut()`: faults of a dial need somebody who dials. */
  end?: Step[] | ((place: Place) => Step[])
  /** The connections that follow it, whole. `now`: the moment at which the fault is armed. */
  dials?: (place: Place, now: number) => ConnectionScript[]
  /** Whether `dials` needs the moment: it is then armed when the client is there, not in advance. */
  timed?: true
  /** Words at the start of the connection after those, and how many events it sends again. */
  resume?: (place: Place) => { words: Step[]; again: number }
  /** Events that come while the fault lasts. */
  during?: (place: Place) => number
  /** What it does to the server's memory, or needs of it: a server that has forgotten cannot replay everything. */
  memory?: 'forgets' | 'needs all'
  /** The last ids before the fault look like this. */
  ids?: (index: number) => string
  /** How many of those ids no header can carry, so that the server sends their events again. */
  unsendable?: number
}

// A strike must not overtake what the server has sent just before: its time would be measured wrongly.
const APART = hold(20)
const HTML = '<!doctype html><title>502 Bad Gateway</title><h1>502 Bad Gateway</h1><hr>nginx\n'
const times = (count: number, script: ConnectionScript) => Array.from({ length: count }, () => script)
const refusal = (status: number, headers: Record<string, string> = {}, body = '') => [
  [APART, answer(status, { headers, body })],
]

/** How many ids before a fault get special ones. */
export const SPECIAL_IDS = 3

/** Every kind of fault that has a right recovery. */
export const FAULTS: readonly Fault[] = [
  { name: 'clean end', word: 'end', end: [end()] },
  { name: 'cut without last chunk', word: 'cut' },
  { name: 'connection reset', word: 'reset', end: [reset()] },
  { name: 'cut inside an event', word: 'cutInside', end: [cutInside('event')] },
  { name: 'cut inside a UTF-8 char', word: 'cutInside', end: [cutInside('character')] },
  { name: 'cut inside a CRLF', word: 'cutInside', before: [lineEnding('\r\n')], end: [cutInside('crlf')] },
  { name: 'reset inside an event', word: 'cutInside', end: [cutInside('event', { by: 'rst' })] },
  { name: 'lines end in CR, then cut', word: 'cut', before: [lineEnding('\r')] },
  { name: 'Content-Length, cut short', word: 'cut', before: [contentLength()] },
  { name: 'close-delimited, then end', word: 'end', before: [closeDelimited()], end: [end()] },
  { name: 'close-delimited, reset', word: 'reset', before: [closeDelimited()], end: [reset()] },
  { name: 'retry: 0, then end', word: 'end', end: [retry('0'), end()] },
  {
    name: 'byte by byte, then cut',
    word: 'cutInside',
    dials: ({ few }) => [[dribble(), send(few), cutInside('event')]],
    during: ({ few }) => few,
  },
  { name: 'silence, socket open', word: 'silence', end: [silence()] },
  {
    name: 'comments, then silence',
    word: 'silence',
    end: [heartbeats({ everyMs: 100, count: 5 }), silence()],
  },
  { name: 'headers, then nothing', word: 'headersOnly', dials: () => [[APART, headersOnly()]] },
  { name: 'no headers', word: 'noHeaders', dials: () => [[APART, noHeaders()]] },
  { name: 'closed before the answer', word: 'cut', dials: () => [[APART, cut()]] },
  { name: 'reset before the answer', word: 'reset', dials: () => [[APART, reset()]] },
  { name: 'not HTTP at all', word: 'garbage', dials: () => [[APART, garbage()]] },
  { name: 'refused for 0.7 s', word: 'refuse', end: [cut(), refuse(700)] },
  { name: '503, Retry-After: 1', word: 'answer', dials: () => refusal(503, { 'Retry-After': '1' }) },
  {
    name: '503, Retry-After: a date',
    word: 'answer',
    timed: true,
    // The header has whole seconds: two ahead is between one and two by the time it is read.
    dials: (_, now) => refusal(503, { 'Retry-After': new Date(now + 2_000).toUTCString() }),
  },
  { name: '503 x 5: circuit opens', word: 'answer', dials: () => times(5, [APART, answer(503)]) },
  { name: '429 too many requests', word: 'answer', dials: () => refusal(429) },
  { name: '500, then well again', word: 'answer', dials: () => refusal(500) },
  { name: '502 with an HTML page', word: 'answer', dials: () => refusal(502, {}, HTML) },
  { name: '200 with an HTML page', word: 'answer', dials: () => refusal(200, {}, HTML) },
  { name: '401, fresh token helps', word: 'answer', dials: () => refusal(401) },
  { name: 'redirect, same origin', word: 'redirect', dials: () => [[APART, redirect('/moved', 307)]] },
  {
    name: 'redirect, other origin',
    word: 'redirect',
    dials: ({ elsewhere }) => [[APART, redirect(elsewhere, 302)]],
  },
  {
    name: 'an overlap replayed',
    word: 'replay',
    resume: ({ at, few }) => {
      const overlap = Math.min(at, 4 * few)
      return { words: [APART, replay({ overlap })], again: overlap }
    },
  },
  {
    name: 'everything replayed',
    word: 'replay',
    memory: 'needs all',
    resume: ({ at }) => ({ words: [APART, replay('all')], again: at }),
  },
  {
    name: 'id forgotten, starts over',
    word: 'replay',
    memory: 'forgets',
    end: place => [cut(), forget(place.at - kept(place))],
    resume: place => ({ words: [APART, replay('all')], again: kept(place) }),
  },
  {
    name: 'flapping: one event, end',
    word: 'end',
    dials: () => times(3, flapping('event')),
    during: () => 3,
  },
  { name: 'flapping: greeting, reset', word: 'reset', dials: () => times(3, flapping('greeting')) },
  { name: 'flapping: error, end', word: 'end', dials: () => times(2, flapping('error')) },
  { name: 'ids outside Latin-1, cut', word: 'cut', ids: index => `é-豆腐-${index}` },
  { name: 'ids with U+0001, cut', word: 'cut', ids: index => `\x01-${index}`, unsendable: SPECIAL_IDS },
  {
    name: 'ids of 20,000 chars, cut',
    word: 'cut',
    ids: index => `${index}-`.padEnd(20_000, 'id'),
    unsendable: SPECIAL_IDS,
  },
]

/** What the server still has when it has forgotten the rest. */
const kept = ({ at, few }: Place): number => Math.min(at, 10 * few)
