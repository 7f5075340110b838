import type { Benchmarks } from '../measure/store.ts'
import { table, wrapped } from './markdown.ts'
import { tableOf } from './tables.ts'
import { isMet, verdict } from './target.ts'
import { targetsOf } from './targets.ts'

interface Section {
  /** Of the names of its cells. */
  group: string
  title: string
  text: string
  image?: { file: string; says: string }
}

const SECTIONS: Section[] = [
  {
    group: 'throughput',
    title: 'Throughput',
    text: 'One stream as fast as it goes. CPU is user and system time of the client process, from the first event to the last; the server is another process. The fastest peer is the best of all other libraries in the same cell.',
    image: { file: 'throughput', says: 'CPU per event as a multiple of the fastest peer, for each cell' },
  },
  {
    group: 'fanout',
    title: 'Fan-out',
    text: 'Many streams in one process, single small events at a steady pace. The event loop is asked every 5 ms; how late it was is what another timer of the application would have to bear.',
  },
  {
    group: 'idle',
    title: 'Idle streams',
    text: 'Resident memory above that of the same process with 50 streams, after garbage collection. CPU without traffic is measured over 4 s in which nothing is sent; then each stream is sent a comment every 15 s. Timers are all that are alive, whether or not they hold the process. A socket alone, with the HTTP client of Node, is the last row.',
    image: { file: 'idle', says: 'Resident memory per idle stream, for each client' },
  },
  {
    group: 'growth',
    title: 'Growth',
    text: 'Whether anything becomes slower or larger with time or with number. The streams share a million events, so that those of ten thousand are mostly first reads of a fresh socket: the floor tells how much of the growth is that.',
  },
  {
    group: 'recovery',
    title: 'Recovery',
    text: 'A real server breaks on purpose, and has all events ready for who asks with `Last-Event-ID`. Clients that take a limit on silence are given 2 s, others keep their defaults; the server asks for a pace of 101 ms. Who has not gone on after 12 s has hung. The worst of all rounds counts. event-source-polyfill asks in the query string, which this server does not read. Altered events (a byte order mark inside the data is lost) are not held against the recovery.',
    image: { file: 'recovery', says: 'The outcome of each fault for each client, as a heat map' },
  },
  {
    group: 'storm',
    title: 'Reconnect storms',
    text: "On a virtual clock and a simulated network: the real client and its layer 4, and a server that accepts 500 dials a second and lets 1,024 wait. What comes beyond is dropped, as by Linux, and asked for again by the client's kernel; in one cell a balancer refuses it. Dials count from the moment when the server is there again. In the deploys it asks for 2 s (`retry:`), which only `resilient-sse` heeds. The server's own limit is how long it needs at least until it has accepted everybody.",
    image: {
      file: 'storm',
      says: 'Dials in each half second after an outage and during a deploy, for four strategies',
    },
  },
  {
    group: 'adapters',
    title: 'Adapters',
    text: 'What the same events cost through what is built on top.',
  },
  {
    group: 'startup',
    title: 'Start',
    text: 'Each import in a process of its own; the size is that of the entry with all chunks it can load, without undici.',
  },
]

const HOW = `## How to run it

\`\`\`sh
npm run bench                  # the cells that are measured by default, at most 20 minutes on two cores
npm run bench -- --full        # all of them
npm run bench -- throughput    # one group, or one cell (throughput/utf-8): shown, and kept with --save
npm run bench -- --report      # this page and its charts again, from docs/benchmarks.json
\`\`\`

Every client is measured in the same minutes, round by round in turn, each round in a process of its own. What a client received is
compared with what was sent, by number and checksum, before its time is believed. Figures are medians of the rounds in
[benchmarks.json](benchmarks.json); ratios of one cell can be compared, times of different days cannot. Peers are the newest versions
that the Node in question accepts. What needs more than twice the time of the fastest is measured twice; what does not
come to its end is written down as such.
`

/** docs/benchmarks.md. */
export function pageOf(benchmarks: Benchmarks): string {
  return [
    '# Benchmarks',
    'This page and its charts are written by `npm run bench` from [benchmarks.json](benchmarks.json).',
    wrapped(conditions(benchmarks)),
    `## Targets\n\n${targetTable(benchmarks)}`,
    HOW.trim(),
    ...SECTIONS.map(section => sectionOf(section, benchmarks)),
    versions(benchmarks),
  ]
    .filter(Boolean)
    .join('\n\n')
    .concat('\n')
}

function conditions(benchmarks: Benchmarks): string {
  const all = Object.values(benchmarks)
  const each = (of: (saved: (typeof all)[number]) => string) => [...new Set(all.map(of))].sort().join(' and ')
  const minutes = Math.round(all.reduce((sum, { seconds }) => sum + seconds, 0) / 60)
  const load = Math.max(0, ...all.map(saved => saved.load)).toFixed(1)
  return `Measured ${each(({ date }) => date.slice(0, 10))} on ${each(({ machine }) => machine)}, with Node ${each(({ node }) => node)}, in ${minutes} minutes. The load of the machine at the beginning of a cell was at most ${load}.`
}

function versions(benchmarks: Benchmarks): string {
  const rows = Object.entries(Object.values(benchmarks).at(-1)?.versions ?? {})
  return `## Versions\n\nThose named \`-newest\` take the place of their namesakes on Node 22 and later.\n\n${table(['package', 'version'], rows)}`
}

function targetTable(benchmarks: Benchmarks): string {
  const rows = targetsOf(benchmarks).map(target => {
    const { what, limit, measured, show } = target
    const shown = Number.isFinite(measured) ? show(measured) : '—'
    const isMissed = Number.isFinite(measured) && !isMet(target)
    return [what, `≤ ${show(limit)}`, isMissed ? `**${shown}**` : shown, verdict(target)]
  })
  return table(['what', 'target', 'measured', ''], rows)
}

function sectionOf({ group, title, text, image }: Section, benchmarks: Benchmarks): string {
  const cells = Object.entries(benchmarks).filter(([name]) => name === group || name.startsWith(`${group}/`))
  if (cells.length === 0) return ''
  const tables = cells.map(([name, saved]) => {
    const heading = name === group ? '' : `### ${saved.title[0]?.toUpperCase()}${saved.title.slice(1)}\n\n`
    return `${heading}${tableOf(name, saved)}`
  })
  const picture = image === undefined ? [] : [`![${image.says}](images/${image.file}.svg)`]
  return [`## ${title}`, wrapped(text), ...picture, ...tables].join('\n\n')
}
