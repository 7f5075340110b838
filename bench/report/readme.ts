import type { AdapterResults } from '../adapters/cells.ts'
import { adapterRatio } from '../adapters/report.ts'
import type { IdleResults } from '../idle/cells.ts'
import { idleMedian } from '../idle/report.ts'
import type { Saved } from '../measure/cell.ts'
import type { Benchmarks } from '../measure/store.ts'
import type { ThroughputResults } from '../throughput/cells.ts'
import { BATCHES, FOR_AWAIT, throughputOf } from '../throughput/report.ts'
import { ratio, table } from './markdown.ts'

const BEGIN = '<!-- From docs/benchmarks.json, by npm run bench. -->'
const END = '<!-- End of what npm run bench has written. -->'

/** The README's figures. */
export function readmeFigures(benchmarks: Benchmarks): string {
  const base = benchmarks['throughput/base'] as Saved<ThroughputResults> | undefined
  const newest = benchmarks['throughput/newest'] as Saved<ThroughputResults> | undefined
  if (base === undefined || newest === undefined) return ''
  const row = (name: string, client: string) => [
    name,
    ratio(throughputOf(base).ofFastest(client)),
    ratio(throughputOf(base).ofFloor(client)),
    ratio(throughputOf(newest).ofFastest(client)),
  ]
  const header = [
    '',
    `of the fastest peer, Node ${base.node.split('.')[0]}`,
    'of the floor',
    `of the fastest peer, Node ${newest.node.split('.')[0]}`,
  ]
  return [
    table(header, [row('`for await`', FOR_AWAIT), row('`batches()`', BATCHES)]),
    ...notes(benchmarks),
  ].join('\n\n')
}

function notes(benchmarks: Benchmarks): string[] {
  const idle = benchmarks['idle/10000'] as Saved<IdleResults> | undefined
  const adapters = benchmarks['adapters/eventsource'] as Saved<AdapterResults> | undefined
  const kib = (client: string) =>
    idle === undefined ? '' : Math.round(idleMedian(idle, client, 'bytesPerStream') / 1_024)
  return [
    ...(idle === undefined
      ? []
      : [
          `An idle stream holds ${kib(FOR_AWAIT)} KiB (eventsource ${kib('eventsource')}), measured with 10,000 of them.`,
        ]),
    ...(adapters === undefined
      ? []
      : [
          `\`EventSource\` needs ${ratio(adapterRatio(adapters, 'resilient-sse/eventsource'))} × the CPU of eventsource.`,
        ]),
  ]
}

/** The README with its figures replaced. */
export function withFigures(readme: string, benchmarks: Benchmarks): string {
  const begin = readme.indexOf(BEGIN)
  const end = readme.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`README.md: ${BEGIN} or ${END} is missing`)
  return `${readme.slice(0, begin)}${BEGIN}\n\n${readmeFigures(benchmarks)}\n\n${readme.slice(end)}`
}
