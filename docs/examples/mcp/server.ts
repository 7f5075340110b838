// The polling demonstration, server side: `npm run mcp:server -- --port 3000`. Copy it, with the files that it imports.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { isJSONRPCRequest, type RequestId } from '@modelcontextprotocol/sdk/types.js'
import { EventFolder } from './event-folder.ts'
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
const MAX_BODY = 4_000_000

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
  store: MemoryEventStore | undefined
  announce: (text: string) => Promise<void>
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const sessions = new Map<string, Session>()
  const limits = { events: options.maxEventsPerStream }
  const folder =
    options.eventLog === undefined
      ? undefined
      : new EventFolder(options.eventLog, { limits, onError: error => console.error(error.message) })
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
    const body = request.method === 'POST' ? await bodyOf(request) : null
    if (body === undefined) return refuse(response, 400, 'The body is not JSON, or too long')
    const session = id === undefined ? await openSession() : sessions.get(String(id))
    if (session !== undefined) return handle(session, request, response, body)
    if (!(await replay(String(id), request, response))) refuse(response, 404, 'The session is not known')
  }

  /** A store that outlives this process is told which calls a stream is for: the next process answers them. */
  function handle(
    { transport, store }: Session,
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
  ): Promise<void> {
    const run = () => transport.handleRequest(request, response, body)
    return store instanceof FileEventStore ? store.during(requestsIn(body), run) : run()
  }

  async function openSession(): Promise<Session> {
    const id = randomUUID()
    const server = options.lowLevel ? lowLevel(options.pauseMs) : highLevel(options.pauseMs)
    // One for each session: the streams of two may have the same name.
    const store = options.eventStore ? (folder?.create(id) ?? new MemoryEventStore(limits)) : undefined
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      retryInterval: options.retryIntervalMs,
      ...(store === undefined ? {} : { eventStore: store }),
      onsessioninitialized: () => void sessions.set(id, session),
      onsessionclosed: () => void (store instanceof FileEventStore && store.remove()),
    })
    const announce = (data: string) => server.sendLoggingMessage({ level: 'info', data })
    const session = { transport, store, announce }
    transport.onclose = () => sessions.delete(id)
    // Its declaration is not written for exactOptionalPropertyTypes.
    await server.connect(transport as Parameters<typeof server.connect>[0])
    return session
  }

  /**
   * What an earlier server had sent in this session, and how its calls ended. When the client has all of it, the answer
   * is 404 as for any session that is lost.
   */
  async function replay(
    session: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean> {
    const cursor = request.headers['last-event-id']
    const store = request.method === 'GET' && cursor !== undefined && (await folder?.earlier(session))
    if (!store || (await store.getStreamIdForEventId(String(cursor))) === undefined) return false
    let blocks = ''
    await store.replayEventsAfter(String(cursor), {
      send: async (id, message) => {
        blocks += `id: ${id}\ndata: ${JSON.stringify(message)}\n\n`
      },
    })
    if (blocks === '') return false
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }).end(blocks)
    return true
  }

  await new Promise<void>((resolve, reject) => {
    http.once('error', reject)
    http.listen(options.port, '127.0.0.1', resolve)
  }).catch(error => {
    folder?.close()
    throw error
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
      folder?.close()
    },
  }
}

/** Protection against DNS rebinding: a page of elsewhere reaches this address only under a name of its own. */
function isLocal({ headers }: IncomingMessage): boolean {
  const local = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i
  const origin = headers.origin === undefined ? undefined : headers.origin.replace(/^https?:\/\//, '')
  return local.test(headers.host ?? '') && (origin === undefined || local.test(origin))
}

/** `undefined` for one that is not JSON, or longer than any of these tools needs. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > MAX_BODY) return undefined
  }
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Older clients send several messages at once. */
function requestsIn(body: unknown): RequestId[] {
  return [body].flat().flatMap(message => (isJSONRPCRequest(message) ? [message.id] : []))
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } })
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}
