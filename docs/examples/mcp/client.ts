// The polling demonstration, client side: `npm run mcp:client -- --url http://localhost:3000/mcp`.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { LifecycleEvent } from 'resilient-sse'
import { type McpStream, mcpFetch } from 'resilient-sse/mcp'
import { FlagError, integer, oneOf, parse } from './flags.ts'

const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const
/** The revisions that this way of polling belongs to, and those before it. */
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const

export interface ClientOptions {
  url: URL
  items: number
  checkpointEvery: number
  logLevel: (typeof LEVELS)[number]
  protocolVersion: (typeof VERSIONS)[number]
  /** Where lines go. */
  print: (line: string) => void
}

const FLAGS = {
  url: { type: 'string', default: 'http://localhost:3000/mcp' },
  items: { type: 'string', default: '10' },
  'checkpoint-every': { type: 'string', default: '3' },
  'log-level': { type: 'string', default: 'INFO' },
  'protocol-version': { type: 'string', default: '2025-11-25' },
} as const

export function clientOptions(args: readonly string[], print: (line: string) => void): ClientOptions {
  const flags = parse('client', FLAGS, args)
  const url = URL.canParse(String(flags.url)) ? new URL(String(flags.url)) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new FlagError(`--url: ${flags.url} is not an http(s) address`)
  return {
    url,
    items: integer('items', flags.items, 1, 10_000),
    checkpointEvery: integer('checkpoint-every', flags['checkpoint-every'], 1, 10_000),
    logLevel: oneOf('log-level', String(flags['log-level']).toUpperCase(), LEVELS),
    protocolVersion: oneOf('protocol-version', flags['protocol-version'], VERSIONS),
    print,
  }
}

/** Connects, lists the tools, calls `process_batch` and prints what it answers. Returns the answer. */
export async function runClient(options: ClientOptions): Promise<string> {
  const log = (level: ClientOptions['logLevel'], text: string) => {
    if (LEVELS.indexOf(level) >= LEVELS.indexOf(options.logLevel)) options.print(`${level.padEnd(7)} ${text}`)
  }
  const client = new Client(
    { name: 'polling-client', version: '1.0.0' },
    { supportedProtocolVersions: [options.protocolVersion] },
  )
  client.setNotificationHandler('notifications/message', ({ params }) =>
    log('INFO', `server: ${params.data}`),
  )
  client.onerror = error => log('ERROR', error.message)
  // The one line that this package adds; `onLifecycle` is for the lines of --log-level DEBUG.
  const fetch = mcpFetch({ onLifecycle: (event, stream) => log('DEBUG', told(event, stream)) })
  await client.connect(new StreamableHTTPClientTransport(options.url, { fetch }))
  try {
    log('INFO', `connected to ${options.url}, protocol ${client.getNegotiatedProtocolVersion()}`)
    for (const { name, description } of (await client.listTools()).tools)
      options.print(`tool    ${name}: ${description ?? '(no description)'}`)
    const result = await client.callTool({
      name: 'process_batch',
      arguments: { items: options.items, checkpoint_every: options.checkpointEvery },
    })
    const [block] = result.content as { type: string; text?: string }[]
    const text = block?.text ?? JSON.stringify(result)
    options.print(`result  ${text}`)
    return text
  } finally {
    await client.close()
  }
}

/** A lifecycle event in words. */
function told(event: LifecycleEvent, { kind, methods, ids }: McpStream): string {
  const stream = kind === 'standalone' ? 'standalone stream' : `${methods.join(', ')} ${ids.join(', ')}`
  switch (event.type) {
    case 'dial':
      return event.lastEventId === undefined
        ? `${stream}: opening`
        : `${stream}: resuming after ${event.lastEventId}`
    case 'open':
      return `${stream}: ${event.resumed ? 'resumed, replay follows' : 'open'}`
    case 'drop':
      return `${stream}: closed (${event.reason}) after ${event.events} events`
    case 'wait':
      return `${stream}: waiting ${event.delayMs} ms (${event.reason})`
    case 'duplicate':
      return `${stream}: ${event.count} replayed events were known`
    case 'gap':
      return `${stream}: events may be missing (${event.reason})`
    default:
      return `${stream}: ${event.type}`
  }
}
