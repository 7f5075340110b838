// The polling demonstration, server side: `npm run mcp:server -- --port 3000`. Copy it, with the files that it imports.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { MemoryEventStore } from './event-store.ts'
import { FileEventStore } from './file-event-store.ts'
import { FlagError, integer, parse } from './flags.ts'
import { highLevel, lowLevel } from './tools.ts'

export interface ServerOptions {
  /** 0: a free one. */
  port: number
  /** What clients are told to wait before they poll, in milliseconds. */
  retryIntervalMs: number
  /** How long the tool waits at a checkpoint: longer than that. */
  pauseMs: number
  maxEventsPerStream: number
  /** Without a store nothing can be replayed, so no stream is closed early. */
  eventStore: boolean
  /** A folder for event stores that outlive the server. */
  eventLog: string | undefined
  lowLevel: boolean
}

const FLAGS = {
  port: { type: 'string', default: '3000' },
  'retry-interval': { type: 'string', default: '100' },
  pause: { type: 'string' },
  'max-events-per-stream': { type: 'string', default: '100' },
  'no-event-store': { type: 'boolean', default: false },
  'event-log': { type: 'string' },
  'low-level': { type: 'boolean', default: false },
} as const

const HOUR_MS = 3_600_000
/** Clients wait up to 100 ms longer than they are told, so that they do not come all at once. */
const SPREAD_MS = 100

export function serverOptions(args: readonly string[]): ServerOptions {
  const flags = parse('server', FLAGS, args)
  const retryIntervalMs = integer('retry-interval', flags['retry-interval'], 0, HOUR_MS)
  const pause = flags.pause ?? String(Math.max(retryIntervalMs, 100) + 2 * SPREAD_MS)
  const pauseMs = integer('pause', pause, 0, 2 * HOUR_MS)
  if (pauseMs <= retryIntervalMs)
    throw new FlagError(`--pause: ${pauseMs} ms must be longer than --retry-interval, ${retryIntervalMs} ms`)
  return {
    port: integer('port', flags.port, 0, 65_535),
    retryIntervalMs,
    pauseMs,
    maxEventsPerStream: integer('max-events-per-stream', flags['max-events-per-stream'], 1, 1_000_000),
    eventStore: flags['no-event-store'] !== true,
    eventLog: flags['event-log'] as string | undefined,
    lowLevel: flags['low-level'] === true,
  }
}

export interface RunningServer {
  url: string
  /** Closes the standalone streams of all sessions, as a server does that wants them to be polled. */
  closeStandaloneStreams(): void
  /** Tells all sessions something on their standalone streams. */
  announce(text: string): Promise<void>
  close(): Promise<void>
}

interface Session {
  transport: StreamableHTTPServerTransport
  announce: (text: string) => Promise<void>
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const sessions = new Map<string, Session>()
  const http = createServer((request, response) => {
    answer(request, response).catch(error => {
      console.error(error)
      if (!response.headersSent) response.writeHead(500)
      response.end()
    })
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isLocal(request)) return refuse(response, 403, 'This server answers to localhost only')
    if (new URL(request.url ?? '/', 'http://localhost').pathname !== '/mcp')
      return refuse(response, 404, 'The endpoint is /mcp')
    const id = request.headers['mcp-session-id']
    const session = sessions.get(String(id))
    if (session !== undefined) return session.transport.handleRequest(request, response)
    if (id === undefined) return (await openSession()).handleRequest(request, response)
    if (!(await replayFromFile(String(id), request, response)))
      refuse(response, 404, 'The session is not known')
  }

  async function openSession(): Promise<StreamableHTTPServerTransport> {
    const session = randomUUID()
    const server = options.lowLevel ? lowLevel(options.pauseMs) : highLevel(options.pauseMs)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => session,
      retryInterval: options.retryIntervalMs,
      ...(options.eventStore ? { eventStore: storeOf(session) } : {}),
      onsessioninitialized: () => {
        const announce = (data: string) => server.sendLoggingMessage({ level: 'info', data })
        sessions.set(session, { transport, announce })
      },
    })
    transport.onclose = () => sessions.delete(session)
    // Its declaration is not written for exactOptionalPropertyTypes.
    await server.connect(transport as Parameters<typeof server.connect>[0])
    return transport
  }

  /** One for each session: the streams of two may have the same name. */
  function storeOf(session: string): MemoryEventStore {
    const { eventLog, maxEventsPerStream } = options
    if (eventLog === undefined) return new MemoryEventStore(maxEventsPerStream)
    return FileEventStore.create(eventLog, session, maxEventsPerStream)
  }

  /** A session of an earlier server: what it had sent is in its file, the answers of finished calls included. */
  async function replayFromFile(
    session: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean> {
    const lastEventId = request.headers['last-event-id']
    const file = options.eventLog && FileEventStore.find(options.eventLog, session)
    if (!file || request.method !== 'GET' || lastEventId === undefined) return false
    const store = new FileEventStore(file, options.maxEventsPerStream)
    if ((await store.getStreamIdForEventId(String(lastEventId))) === undefined) return false
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    await store.replayEventsAfter(String(lastEventId), {
      send: async (id, message) => {
        response.write(`id: ${id}\ndata: ${JSON.stringify(message)}\n\n`)
      },
    })
    response.end()
    return true
  }

  await new Promise<void>((resolve, reject) => {
    http.once('error', reject)
    http.listen(options.port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    closeStandaloneStreams: () => {
      for (const { transport } of sessions.values()) transport.closeStandaloneSSEStream()
    },
    announce: async text => {
      for (const { announce } of sessions.values()) await announce(text)
    },
    close: async () => {
      const closed = new Promise(resolve => http.close(resolve))
      for (const { transport } of sessions.values()) await transport.close()
      http.closeAllConnections()
      await closed
    },
  }
}

/** Protection against DNS rebinding: a page of elsewhere reaches this address only under a name of its own. */
function isLocal({ headers }: IncomingMessage): boolean {
  const local = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i
  const origin = headers.origin === undefined ? undefined : headers.origin.replace(/^https?:\/\//, '')
  return local.test(headers.host ?? '') && (origin === undefined || local.test(origin))
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } })
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}
