import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type RunningServer, serverOptions, startServer } from '../../../docs/examples/mcp/server.ts'
import type { TestClient } from '../mcp/clients.ts'
import { freePort, isListening } from '../ports.ts'
import { Child } from './child.ts'
import { startV2Server } from './v2-server.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

const RETRY_INTERVAL_MS = 100
/** How long the tool is quiet at a checkpoint: nginx, which waits 2 s, cuts it, however slow the machine is. */
const PAUSE_MS = 5_000

const ITEMS = 5
const CHECKPOINT_EVERY = 2
const CHECKPOINTS = Math.ceil(ITEMS / CHECKPOINT_EVERY) - 1

/** A call that is quiet for longer than nginx waits, and what is right about its outcome. */
export interface LongCall {
  tool: string
  arguments: Record<string, number>
  /** How often the server closes its stream. */
  closed: number
  notifications: unknown[]
  answer: string
}

export const BATCH: LongCall = {
  tool: 'process_batch',
  arguments: { items: ITEMS, checkpoint_every: CHECKPOINT_EVERY },
  closed: CHECKPOINTS,
  notifications: Array.from({ length: ITEMS }, (_, index) => index + 1).flatMap(item => {
    const done = `Processed item ${item} of ${ITEMS}`
    const isCheckpoint = item % CHECKPOINT_EVERY === 0 && item < ITEMS
    return isCheckpoint
      ? [done, `Checkpoint at item ${item} of ${ITEMS}: sent while no stream was open`]
      : [done]
  }),
  answer: `Processed ${ITEMS} items; checkpoints: ${CHECKPOINTS}`,
}

/** A server that has served nobody yet. */
export interface PollingServer extends AsyncDisposable {
  url: URL
  call: LongCall
  standalone: ClosingStandalone | TalkingStandalone
}

/** Its standalone stream can be told to close. */
export interface ClosingStandalone {
  announce(client: TestClient, text: string): Promise<unknown>
  /** Closes the stream, and announces something then. */
  announceWhileClosed(client: TestClient, text: string): Promise<unknown>
}

/** It cannot close its standalone stream, but has something to say on it at once and every 5 s. */
export interface TalkingStandalone {
  talk(client: TestClient): Promise<unknown>
}

export type StartServer = () => Promise<PollingServer>

const children: Child[] = []

/** Ends the processes that serve several sessions, one after the other. */
export async function stopServers(): Promise<void> {
  for (const child of children.splice(0)) await child[Symbol.asyncDispose]()
}

function childOf(command: string, args: string[], env: Record<string, string> = {}): Child {
  const child = new Child(command, args, env)
  children.push(child)
  return child
}

/** Enough for two pollings, two gateways and two lines of the SDK, for `mcp:client`, and for one that only looks. */
const PYTHON_SESSIONS = 11

function python(command: string, ...flags: string[]): StartServer {
  let urls: Promise<string[]> | undefined
  const start = async () => {
    const numbers = { sessions: PYTHON_SESSIONS, 'retry-interval': RETRY_INTERVAL_MS, pause: PAUSE_MS }
    const args = Object.entries(numbers).flatMap(([name, value]) => [`--${name}`, String(value)])
    const child = childOf(command, [path('python/serve.py'), ...args, ...flags])
    return child.until(() => {
      const found = child.output.match(/http:.*/g) ?? []
      return found.length === PYTHON_SESSIONS ? found : undefined
    })
  }
  return async () => {
    urls ??= start()
    const url = (await urls).pop()
    if (url === undefined) throw new Error('More sessions than PYTHON_SESSIONS')
    return {
      url: new URL(url),
      call: BATCH,
      standalone: {
        announce: (client, text) => client.call('announce', { arguments: { text } }),
        announceWhileClosed: (client, text) => client.call('announce_while_closed', { arguments: { text } }),
      },
      [Symbol.asyncDispose]: async () => {},
    }
  }
}

function example(start: () => Promise<RunningServer>): StartServer {
  return async () => {
    const server = await start()
    return {
      url: new URL(server.url),
      call: BATCH,
      standalone: {
        announce: (_, text) => server.announce(text),
        announceWhileClosed: (_, text) => {
          server.closeStandaloneStreams()
          return server.announce(text)
        },
      },
      [Symbol.asyncDispose]: () => server.close(),
    }
  }
}

function exampleServer(...flags: string[]): StartServer {
  const numbers = ['--port', 0, '--retry-interval', RETRY_INTERVAL_MS, '--pause', PAUSE_MS].map(String)
  return example(() => startServer(serverOptions([...numbers, ...flags])))
}

const EVERYTHING = 'node_modules/@modelcontextprotocol/server-everything'

function everything(): StartServer {
  let url: Promise<URL> | undefined
  const start = async () => {
    const port = await freePort()
    const child = childOf(process.execPath, [path(`${EVERYTHING}/dist/index.js`), 'streamableHttp'], {
      PORT: String(port),
    })
    await child.until(() => isListening(port))
    return new URL(`http://127.0.0.1:${port}/mcp`)
  }
  return async () => {
    url ??= start()
    return {
      url: await url,
      // Its steps are further apart than nginx waits.
      call: {
        tool: 'trigger-long-running-operation',
        arguments: { duration: 5.4, steps: 2 },
        closed: 0,
        notifications: [1, 2],
        answer: 'Long running operation completed. Duration: 5.4 seconds, Steps: 2.',
      },
      standalone: {
        talk: async client => {
          await client.call('toggle-simulated-logging')
          // Its progress and its answer will be replayed on the standalone stream, too.
          const steps = { duration: 0.1, steps: 2 }
          await client.call('trigger-long-running-operation', { arguments: steps, onprogress: () => {} })
        },
      },
      [Symbol.asyncDispose]: async () => {},
    }
  }
}

function pythonServers(command: string | undefined, requirements: string) {
  if (command === undefined) return []
  const [, version] = /^mcp==(.*)$/m.exec(readFileSync(path(requirements), 'utf8')) ?? []
  const name = `Python SDK ${version}`
  return [
    { name, start: python(command) },
    { name: `${name}, low-level`, start: python(command, '--low-level') },
  ]
}

/** The name of a package's server, with the version that is installed. */
function versioned(name: string, folder: string): string {
  const { version } = JSON.parse(readFileSync(path(`${folder}/package.json`), 'utf8'))
  return `\`${name}\` ${version}`
}

/** What the command has found on this machine: run.mjs. */
const { INTEROP_PYTHON_V1, INTEROP_PYTHON_V2 } = process.env

export const PYTHON_SERVERS: { name: string; start: StartServer }[] = [
  ...pythonServers(INTEROP_PYTHON_V2, 'python/v2.txt'),
  ...pythonServers(INTEROP_PYTHON_V1, 'python/v1.txt'),
]

export const MCP_SERVER = { name: '`mcp:server`', start: exampleServer() }

export const SERVERS: { name: string; start: StartServer }[] = [
  ...PYTHON_SERVERS,
  { name: versioned('server-everything', EVERYTHING), start: everything() },
  MCP_SERVER,
  { name: '`mcp:server --low-level`', start: exampleServer('--low-level') },
  {
    name: versioned('@modelcontextprotocol/server', '../../../node_modules/@modelcontextprotocol/server'),
    start: example(() => startV2Server({ retryIntervalMs: RETRY_INTERVAL_MS, pauseMs: PAUSE_MS })),
  },
]
