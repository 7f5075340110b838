import { readFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Saved } from './cell.ts'

const PEERS = [
  'eventsource',
  'eventsource-newest',
  'eventsource-client',
  'eventsource-parser',
  'undici',
  'undici-newest',
  'launchdarkly-eventsource',
  'extended-eventsource',
  'event-source-polyfill',
  '@microsoft/fetch-event-source',
]
/** Of the repository, for what is built on top of them. */
const OF_ROOT = ['resilient-sse', 'p-retry', '@modelcontextprotocol/sdk', '@modelcontextprotocol/client']

// From bench/dist.
const REPOSITORY = new URL('../../', import.meta.url)

/** Where and with what something is measured. */
export function environment(): Pick<Saved, 'machine' | 'versions'> {
  const processors = cpus()
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  const machine = `${type()} ${release()}, ${processors.length} × ${processors[0]?.model.trim()}, ${memory}`
  const own = versionOf('package.json')
  const found = [
    ...PEERS.map(name => [name, versionOf(`bench/node_modules/${name}/package.json`)]),
    ...OF_ROOT.slice(1).map(name => [name, versionOf(`node_modules/${name}/package.json`)]),
  ]
  return { machine, versions: { 'resilient-sse': own, ...Object.fromEntries(found) } }
}

function versionOf(path: string): string {
  return JSON.parse(readFileSync(fileURLToPath(new URL(path, REPOSITORY)), 'utf8')).version
}
