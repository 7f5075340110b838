import * as Plot from '@observablehq/plot'
import type { Benchmarks } from '../../measure/store.ts'
import { type CHART_DATA, idleData, recoveryData, stormData, throughputData } from './data.ts'
import { COLOURS, svgOf } from './svg.ts'

export function charts(benchmarks: Benchmarks): Record<keyof typeof CHART_DATA, string> {
  return {
    throughput: throughputChart(benchmarks),
    recovery: recoveryChart(benchmarks),
    storm: stormChart(benchmarks),
    idle: idleChart(benchmarks),
  }
}

const SHOWN: Record<string, string> = {
  'resilient-sse': COLOURS.ours,
  'resilient-sse batches': COLOURS.oursToo,
  'fetch + decoder + parser': COLOURS.floor,
  eventsource: COLOURS.peer,
  'eventsource-client': COLOURS.bad,
}
/** Beyond, a client is only far away. */
const MOST = 2

function throughputChart(benchmarks: Benchmarks): string {
  const data = throughputData(benchmarks).filter(({ client, ratio }) => client in SHOWN && ratio <= MOST)
  return svgOf('CPU per event, as a multiple of the fastest peer (left is better)', SHOWN, {
    marginLeft: 300,
    marginBottom: 45,
    x: { domain: [0.4, MOST], label: '× the fastest peer', grid: true },
    y: { domain: [...new Set(data.map(({ cell }) => cell))], label: null },
    marks: [
      Plot.ruleX([1], { stroke: 'currentColor', strokeDasharray: '4 3' }),
      Plot.dot(data, {
        x: 'ratio',
        y: 'cell',
        fill: ({ client }: { client: string }) => SHOWN[client],
        r: 6,
        fillOpacity: 0.9,
      }),
    ],
  })
}

const OUTCOMES: Record<string, string> = {
  clean: COLOURS.good,
  doubled: COLOURS.poor,
  lost: COLOURS.bad,
  hung: COLOURS.worst,
  'gave up': COLOURS.floor,
}

function recoveryChart(benchmarks: Benchmarks): string {
  const data = recoveryData(benchmarks)
  const fill = ({ outcome }: { outcome: string }) => OUTCOMES[outcome.replace(/^\d+ /, '')]
  return svgOf('What became of a stream after each fault', OUTCOMES, {
    marginLeft: 220,
    marginTop: 125,
    marginRight: 130,
    width: 1_040,
    height: 720,
    padding: 0.08,
    x: { domain: [...new Set(data.map(({ client }) => client))], axis: 'top', tickRotate: -32, label: null },
    y: { domain: [...new Set(data.map(({ fault }) => fault))], label: null },
    marks: [
      Plot.cell(data, { x: 'client', y: 'fault', fill, rx: 3 }),
      Plot.text(data, { x: 'client', y: 'fault', text: 'outcome', fill: '#ffffff', fontSize: 11 }),
    ],
  })
}

const TITLES: Record<string, string> = {
  outage: 'after an outage of 30 s',
  deploy: 'during a rolling deploy',
}
/** What comes later is the tail of few. */
const STORM_SECONDS = 60

type Bin = ReturnType<typeof stormData>[number]

function stormChart(benchmarks: Benchmarks): string {
  const data = stormData(benchmarks).filter(({ second }) => second < STORM_SECONDS)
  return svgOf(
    '10,000 clients come back: dials in each half second (square-root scale)',
    {},
    {
      height: 520,
      marginLeft: 60,
      marginRight: 150,
      fx: {
        label: null,
        domain: Object.keys(TITLES),
        tickFormat: (scenario: string) => TITLES[scenario] ?? '',
      },
      fy: { label: null, domain: [...new Set(data.map(({ strategy }) => strategy))] },
      x: { label: 'seconds', domain: [0, STORM_SECONDS] },
      y: { type: 'sqrt', domain: [0, 10_000], label: null, ticks: [100, 1_000, 5_000, 10_000], grid: true },
      marks: [
        Plot.rectY(data, {
          x1: 'second',
          x2: ({ second }: Bin) => second + 0.5,
          y: 'dials',
          fx: 'scenario',
          fy: 'strategy',
          fill: ({ strategy }: Bin) => (strategy === 'resilient-sse' ? COLOURS.ours : COLOURS.peer),
        }),
        Plot.ruleY([0], { stroke: 'currentColor' }),
      ],
    },
  )
}

const IDLE_TARGET_KIB = 32
const IDLE_LEGEND = {
  'resilient-sse': COLOURS.ours,
  peers: COLOURS.peer,
  'less than a client': COLOURS.floor,
}
const FLOORS = /fetch \+|node:http/

function idleChart(benchmarks: Benchmarks): string {
  const data = idleData(benchmarks).filter(({ kib }) => !Number.isNaN(kib))
  const fill = ({ client }: { client: string }) =>
    client === 'resilient-sse' ? COLOURS.ours : FLOORS.test(client) ? COLOURS.floor : COLOURS.peer
  return svgOf('Resident memory of an idle stream, of 10,000 (dashed: the target)', IDLE_LEGEND, {
    marginLeft: 220,
    marginRight: 60,
    marginBottom: 45,
    x: { label: 'KiB per stream', grid: true },
    y: { label: null, domain: data.sort((a, b) => a.kib - b.kib).map(({ client }) => client) },
    marks: [
      Plot.barX(data, { x: 'kib', y: 'client', fill, rx: 2 }),
      Plot.text(data, { x: 'kib', y: 'client', text: ({ kib }: { kib: number }) => kib.toFixed(1), dx: 20 }),
      Plot.ruleX([IDLE_TARGET_KIB], { stroke: 'currentColor', strokeDasharray: '4 3' }),
    ],
  })
}
