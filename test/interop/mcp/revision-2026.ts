import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type LostCall, type McpFetchOptions, mcpFetch } from 'resilient-sse/mcp'
import { afterAll } from 'vitest'
import { QUICK } from './clients.ts'
import { type Leg, type LegWriter, McpFaultServer, type McpScript } from './fault-server.ts'

// The revision 2026-07-28: no sessions, no GET, no Last-Event-ID; closing a stream cancels its call. Only v2 speaks it.

export const VERSION = '2026-07-28'

const open: AsyncDisposable[] = []

afterAll(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

/** Closed after the tests of a file, which may run at the same time; the last one first. */
export function closing<Thing extends AsyncDisposable>(thing: Thing): Thing {
  open.push(thing)
  return thing
}

const CACHE = { ttlMs: 0, cacheScope: 'private' }

/** What a result needs beside its own. */
export const complete = (result: object): object => ({ resultType: 'complete', ...CACHE, ...result })

export const DISCOVERED = complete({
  supportedVersions: [VERSION],
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
  },
})

/** Answers on a stream, which then ends. */
export const streamed =
  (result: object): Leg =>
  out =>
    out.message({ id: out.id, result: complete(result) }).end()

/** Answers by plain JSON. */
export const json =
  (answer: object, status = 200): Leg =>
  out =>
    out.answer(status, JSON.stringify({ jsonrpc: '2.0', id: out.id, ...answer }), {
      'content-type': 'application/json',
    })

/** A stream that breaks with nothing in it. */
export const broken: Leg = out => out.comment().reset()

export const done: Leg = streamed({ content: [{ type: 'text', text: 'done' }] })

export const changed = (out: LegWriter, list: 'tools' | 'prompts' | 'resources'): LegWriter =>
  out.message({
    method: `notifications/${list}/list_changed`,
    params: { _meta: { 'io.modelcontextprotocol/subscriptionId': out.id } },
  })

export interface Connected {
  server: McpFaultServer
  client: Client
  /** What `onerror` was told. */
  errors: Error[]
}

/** `bare`: the SDK alone. */
export async function start(
  script: McpScript,
  how: 'bare' | McpFetchOptions = {},
  options: ClientOptions = {},
): Promise<Connected> {
  const methods = { 'server/discover': [json({ result: DISCOVERED })], ...script.methods }
  const server = closing(await McpFaultServer.start({ ...script, methods }))
  return { server, ...(await connect(server.url, how, options)) }
}

export async function connect(
  url: URL,
  how: 'bare' | McpFetchOptions = {},
  options: ClientOptions = {},
): Promise<Omit<Connected, 'server'>> {
  const errors: Error[] = []
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: { pin: VERSION } }, ...options },
  )
  client.onerror = error => void errors.push(error)
  const fetch = how === 'bare' ? {} : { fetch: mcpFetch({ ...QUICK, ...how }) }
  const requestInit = { headers: { authorization: 'Bearer secret' } }
  await client.connect(new StreamableHTTPClientTransport(url, { ...fetch, requestInit }))
  closing({ [Symbol.asyncDispose]: () => client.close() })
  return { client, errors }
}

/** The same twice: the SDK alone, and with the wrapper. */
export async function both(
  script: McpScript,
  how: McpFetchOptions = {},
  options: ClientOptions = {},
): Promise<{ bare: Connected; ours: Connected }> {
  return { bare: await start(script, 'bare', options), ours: await start(script, how, options) }
}

/** The ids that the server was asked with. */
export const idsOf = (server: McpFaultServer, method: string): unknown[] =>
  server.of(method).map(({ id }) => id)

/** How a call ends that is answered by none: the SDK's own timeout. */
export const HUNG = { code: 'REQUEST_TIMEOUT' }

/** How one ends that was settled. */
export const lost = (data: Partial<LostCall>): object => ({
  code: -32_000,
  data: { sent: 'unknown', ...data },
})
