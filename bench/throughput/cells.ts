import { BARE_FETCH } from '../clients/floors.ts'
import type { Cell, RunOptions } from '../measure/cell.ts'
import { newest } from '../measure/node.ts'
import type { Round } from '../measure/rounds.ts'
import { type ThroughputRound, throughput } from './run.ts'
import type { StreamSpec } from './stream.ts'

export interface ThroughputResults {
  spec: StreamSpec
  /** By client. */
  rounds: Record<string, Round<ThroughputRound>[]>
}

export const BASE: StreamSpec = {
  events: 1_500_000,
  bytes: 130,
  text: 'ascii',
  ids: '36 characters',
  chunk: 65_536,
  before: 0,
}

/** Those that come into question for the fastest, and the floors. */
const FAST = [
  'resilient-sse',
  'resilient-sse batches',
  'eventsource',
  'eventsource-client',
  'undici EventSource',
  'fetch + decoder + parser',
]
const ALL = [
  ...FAST,
  'launchdarkly-eventsource',
  'extended-eventsource',
  'event-source-polyfill',
  '@microsoft/fetch-event-source',
  BARE_FETCH,
]

interface Variant {
  title: string
  spec?: Partial<StreamSpec>
  clients?: readonly string[]
  rounds?: number
  onNewest?: true
  byDefault?: false
}

const VARIANTS: Record<string, Variant> = {
  base: { title: '130-byte events in 64 KiB chunks', clients: ALL, rounds: 7 },
  newest: { title: 'the same on the newest Node', clients: ALL, rounds: 5, onNewest: true },
  '1-kib': { title: '1 KiB events in 64 KiB chunks', spec: { bytes: 1_024, events: 300_000 }, rounds: 3 },
  '1-mib': { title: '1 MiB events in 64 KiB chunks', spec: { bytes: 1_048_576, events: 300 }, clients: ALL },
  'one-a-chunk': {
    title: '130-byte events, one a chunk',
    spec: { chunk: 'event', events: 300_000 },
    clients: ALL,
  },
  'small-chunks': {
    title: '130-byte events in 1,460-byte chunks',
    spec: { chunk: 1_460, events: 1_000_000 },
  },
  'utf-8': { title: '130-byte events of UTF-8 text', spec: { text: 'utf-8', events: 1_000_000 } },
  'short-ids': { title: '130-byte events with short ids', spec: { ids: 'short' }, rounds: 3 },
  reconnected: {
    title: '130-byte events after a reconnect',
    spec: { before: 100_000 },
  },
  'newest-utf-8': {
    title: 'UTF-8 text on the newest Node',
    spec: { text: 'utf-8', events: 1_000_000 },
    onNewest: true,
    byDefault: false,
  },
  'newest-one-a-chunk': {
    title: 'one event a chunk on the newest Node',
    spec: { chunk: 'event', events: 300_000 },
    onNewest: true,
    byDefault: false,
  },
  'newest-1-mib': {
    title: '1 MiB events on the newest Node',
    spec: { bytes: 1_048_576, events: 300 },
    onNewest: true,
    byDefault: false,
  },
  'newest-reconnected': {
    title: 'after a reconnect on the newest Node',
    spec: { before: 100_000 },
    onNewest: true,
    byDefault: false,
  },
}

export const THROUGHPUT: Cell<ThroughputResults>[] = Object.entries(VARIANTS).map(([name, variant]) => ({
  name: `throughput/${name}`,
  title: variant.title,
  byDefault: variant.byDefault ?? true,
  ...(variant.onNewest && { node: 'newest' }),
  run: options => runVariant(variant, options),
}))

async function runVariant(
  { spec: changes, clients = FAST, rounds = 5, onNewest }: Variant,
  options: RunOptions,
): Promise<ThroughputResults> {
  const spec = sized({ ...BASE, ...changes }, options)
  // A client that reads bytes alone neither reconnects nor knows what an event is.
  const able = spec.before > 0 ? clients.filter(client => client !== BARE_FETCH) : clients
  const node = onNewest ? { execPath: newest().execPath } : {}
  return { spec, rounds: await throughput(able, spec, { rounds: options.rounds ?? rounds, ...node }) }
}

export function sized(spec: StreamSpec, { quick }: RunOptions): StreamSpec {
  const share = quick ? 0.05 : 1
  return { ...spec, events: Math.ceil(spec.events * share), before: Math.ceil(spec.before * share) }
}
