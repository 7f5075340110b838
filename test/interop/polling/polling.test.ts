import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientOptions, runClient } from '../../../docs/examples/mcp/client.ts'
import type { Line } from '../mcp/clients.ts'
import { Child } from './child.ts'
import { Door } from './door.ts'
import { type Gateway, NO_GATEWAY, startNginx } from './gateway.ts'
import { type Figures, type Polling, pollCall, pollStandalone } from './measure.ts'
import { type Row, rowsOnPage, writePage } from './page.ts'
import { BATCH, MCP_SERVER, PYTHON_SERVERS, SERVERS, stopServers } from './servers.ts'

// Both pollings of SEP-1699, against the servers that there are, each by itself and behind a gateway that cuts what is quiet.

const { INTEROP_NGINX, INTEROP_PYTHON_V1, INTEROP_PYTHON_V2, INTEROP_WRITE } = process.env
const LINES: Line[] = ['v1', 'v2']
const POLLINGS: [string, Polling][] = [
  ['of a call', pollCall],
  ['standalone', pollStandalone],
]
const GATEWAYS: Gateway[] = [NO_GATEWAY, ...(INTEROP_NGINX ? [await startNginx(INTEROP_NGINX)] : [])]

// Their processes are up, one after the other, before anything is measured.
beforeAll(async () => {
  for (const { start } of SERVERS) await (await start())[Symbol.asyncDispose]()
}, 120_000)

afterAll(async () => {
  await stopServers()
  for (const gateway of GATEWAYS) await gateway[Symbol.asyncDispose]()
})

const runs = SERVERS.flatMap(({ name, start }) =>
  POLLINGS.flatMap(([stream, polling]) =>
    GATEWAYS.map(gateway => ({ name, start, stream, polling, gateway, via: gateway.name })),
  ),
)
type Run = (typeof runs)[number]
const rows: (Row | undefined)[] = runs.map(() => undefined)

describe.concurrent('both lines of the SDK hear everything once and in order:', () => {
  test.each(runs)('stream $stream, $name, gateway: $via', async run => {
    const { start, polling, gateway } = run
    const lines = await Promise.all(LINES.map(line => polling(line, start, gateway)))
    for (const figures of lines) {
      const { heard, expected, errors, closed, legs, call } = figures
      expect(heard).toEqual(expected)
      expect(errors).toEqual([])
      if (gateway.cuts) expect(legs).toBeGreaterThan(closed + 1)
      else expect(legs).toBe(closed + 1)
      if (call === undefined) continue
      expect(call.posts, 'POSTs of the call').toBe(1)
      expect(call.answer).toBe(call.expected)
    }
    rows[runs.indexOf(run)] = rowOf(run, lines[0] as Figures)
  })
})

function rowOf({ name, stream, gateway }: Run, { closed, sent, lost, doubled, call }: Figures): Row {
  // How often a gateway cuts depends on how busy the machine is.
  const legs = gateway.cuts ? `> ${closed + 1}` : `${closed + 1}`
  const outcome = call === undefined ? 'in order' : 'answered'
  return [name, stream, `${closed}`, gateway.name, legs, `${sent}`, `${lost}`, `${doubled}`, outcome]
}

describe.concurrent.each(GATEWAYS)('the demonstration, gateway: $name:', gateway => {
  test.each(PYTHON_SERVERS)('`mcp:client` prints all that $name says', async ({ start }) => {
    await using server = await start()
    const lines: string[] = []
    const { items, checkpoint_every } = BATCH.arguments
    const flags = [
      '--url',
      gateway.to(server.url).href,
      '--items',
      items,
      '--checkpoint-every',
      checkpoint_every,
    ]
    const answer = await runClient(clientOptions(flags.map(String), line => lines.push(line)))
    expect(answer).toBe(BATCH.answer)
    const heard = lines.filter(line => line.includes('server: ')).map(line => line.replace(/.*server: /, ''))
    expect(heard).toEqual(BATCH.notifications)
  })
})

// Without a gateway: this client gives up after two cuts in a row.
test.concurrent.each([INTEROP_PYTHON_V2, INTEROP_PYTHON_V1].filter(command => command !== undefined))(
  "the Python SDK's own client polls `mcp:server`: %s",
  async command => {
    await using server = await MCP_SERVER.start()
    await using door = await Door.open(server.url)
    const script = fileURLToPath(new URL('python/client.py', import.meta.url))
    const call = JSON.stringify({ name: server.call.tool, arguments: server.call.arguments })
    await using client = new Child(command, [script, door.url.href, call])
    const { heard, answer } = JSON.parse(await client.ended())
    expect(heard).toEqual(BATCH.notifications)
    expect(answer).toBe(BATCH.answer)
    expect(door.posts(server.call.tool)).toBe(1)
  },
)

if (INTEROP_WRITE !== undefined)
  test('the table in docs/mcp.md is written', () => {
    expect(rows.filter(row => row === undefined)).toEqual([])
    writePage(rows as Row[])
  })

test('docs/mcp.md has the figures of this run', () => {
  const measured = rows.filter(row => row !== undefined)
  const onPage = rowsOnPage().filter(([name, stream, , via]) =>
    runs.some(run => run.name === name && run.stream === stream && run.via === via),
  )
  expect(onPage).toEqual(measured)
})
