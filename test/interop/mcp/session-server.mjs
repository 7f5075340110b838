// A real server of either SDK line with sessions in memory, to be killed: node session-server.mjs v1|v2 PORT LOG [NAME=VALUE …].
// Each initialize, tool call, level and subscription that it carries out is a line of the file LOG.
import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'

const [line, port, log, ...settings] = process.argv.slice(2)
const given = Object.fromEntries(settings.map(setting => setting.split('=')))
const { Server, Transport, on, tell } = await (line === 'v1' ? sdkV1() : sdkV2())
const sessions = new Map()
const note = what => appendFileSync(log, `${what}\n`)

function newServer() {
  const capabilities = { tools: { listChanged: true }, logging: {}, resources: { subscribe: true } }
  if (given.prompts) capabilities.prompts = {}
  const server = new Server({ name: 'sessions', version: given.version ?? '1' }, { capabilities })
  on(server, 'tools/list', () => ({
    tools: [{ name: 'work', inputSchema: { type: 'object' } }],
  }))
  on(server, 'tools/call', async ({ params }, context) => {
    const { number, ms = 0, ask = false } = params.arguments
    note(`call ${number}`)
    // The headers of an answer leave with its first event.
    if (!given.json)
      await tell(context, { method: 'notifications/message', params: { level: 'info', data: number } })
    if (ask)
      await server.elicitInput({ message: `${number}?`, requestedSchema: { type: 'object', properties: {} } })
    await new Promise(resolve => setTimeout(resolve, ms))
    return { content: [{ type: 'text', text: `done ${number}` }] }
  })
  on(server, 'logging/setLevel', ({ params }) => {
    note(`level ${params.level}`)
    return {}
  })
  for (const method of ['resources/subscribe', 'resources/unsubscribe'])
    on(server, method, ({ params }) => {
      note(`${method} ${params.uri}`)
      return {}
    })
  return server
}

async function newTransport() {
  const transport = new Transport({
    sessionIdGenerator: given.stateless ? undefined : randomUUID,
    enableJsonResponse: Boolean(given.json),
    onsessioninitialized: id => sessions.set(id, transport),
  })
  await newServer().connect(transport)
  return transport
}

async function answer(request) {
  const text = request.method === 'POST' ? await request.clone().text() : ''
  if (text.includes('"method":"initialize"')) note('initialize')
  if (given.stateless) return (await newTransport()).handleRequest(request)
  const id = request.headers.get('mcp-session-id')
  const transport = id === null ? await newTransport() : sessions.get(id)
  if (transport === undefined)
    return new Response('{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}', {
      status: 404,
    })
  return transport.handleRequest(request)
}

const http = createServer(getRequestListener(answer))
http.listen(Number(port), '127.0.0.1', () => process.send({ port: http.address().port }))
process.on('message', what => {
  if (what !== 'forget') return
  sessions.clear()
  process.send({ forgot: true })
})

async function sdkV1() {
  const { Server } = await import('@modelcontextprotocol/sdk/server/index.js')
  const types = await import('@modelcontextprotocol/sdk/types.js')
  const { WebStandardStreamableHTTPServerTransport: Transport } = await import(
    '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
  )
  const schemas = {
    'tools/list': types.ListToolsRequestSchema,
    'tools/call': types.CallToolRequestSchema,
    'logging/setLevel': types.SetLevelRequestSchema,
    'resources/subscribe': types.SubscribeRequestSchema,
    'resources/unsubscribe': types.UnsubscribeRequestSchema,
  }
  const on = (server, method, handler) => server.setRequestHandler(schemas[method], handler)
  return { Server, Transport, on, tell: (extra, notification) => extra.sendNotification(notification) }
}

async function sdkV2() {
  const { Server, WebStandardStreamableHTTPServerTransport: Transport } = await import(
    '@modelcontextprotocol/server'
  )
  const on = (server, method, handler) => server.setRequestHandler(method, handler)
  return { Server, Transport, on, tell: (context, notification) => context.mcpReq.notify(notification) }
}
