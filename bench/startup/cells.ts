import { fileURLToPath } from 'node:url'
import type { Cell } from '../measure/cell.ts'
import { ask } from '../measure/processes.ts'
import { interleave, type Round } from '../measure/rounds.ts'
import { sizeOf } from './size.ts'

export interface StartupRound {
  ms: number
  cpuMs: number
  rssBytes: number
}

export interface StartupResults {
  /** By what is imported. */
  rounds: Record<string, Round<StartupRound>[]>
  sizes: Record<string, { bytes: number; gzipBytes: number }>
}

// From bench/dist.
const built = (file: string) => new URL(`../../dist/${file}`, import.meta.url)

const ENTRIES = {
  'resilient-sse': built('index.js'),
  'resilient-sse/eventsource': built('eventsource.js'),
  'resilient-sse/mcp': built('mcp.js'),
  'resilient-sse/stores/file': built('stores/file.js'),
  'resilient-sse/testing': built('testing.js'),
}
/** What ours stands on, and what people use instead. */
const OTHERS = [
  'undici',
  'eventsource',
  'eventsource-client',
  'launchdarkly-eventsource',
  'extended-eventsource',
]

export const STARTUP: Cell<StartupResults> = {
  name: 'startup',
  title: 'the import of each entry, in a fresh process',
  byDefault: true,
  async run({ quick, rounds = quick ? 1 : 9 }) {
    const specifiers: Record<string, string> = {
      ...Object.fromEntries(Object.entries(ENTRIES).map(([name, url]) => [name, url.href])),
      ...Object.fromEntries(OTHERS.map(name => [name, name])),
    }
    const measure = (name: string) =>
      ask<StartupRound>('startup/import', { specifier: specifiers[name] }, { limitMs: 20_000 })
    return {
      // None is too slow to be measured again.
      rounds: await interleave(Object.keys(specifiers), rounds, measure, () => 1),
      sizes: Object.fromEntries(
        Object.entries(ENTRIES).map(([name, url]) => [name, sizeOf(fileURLToPath(url))]),
      ),
    }
  },
}
