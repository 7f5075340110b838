// The least of an MCP server: any tool call is answered by a stream of so many log messages, and then the result.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { notification } from './messages.ts'

const { messages } = JSON.parse(process.argv[2] as string) as { messages: number }
const WRITE_CHARS = 65_536

const writes: string[] = []
let text = ''
for (let n = 0; n < messages; n++) {
  text += `id: ${n}\nevent: message\ndata: ${JSON.stringify(notification(n))}\n\n`
  if (text.length >= WRITE_CHARS) {
    writes.push(text)
    text = ''
  }
}
writes.push(text)

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const { id, method, params } = JSON.parse(await bodyOf(request))
  if (id === undefined) response.writeHead(202).end()
  else if (method === 'tools/call') await answerCall(response, id)
  else answer(response, id, resultOf(method, params))
})

function resultOf(method: string, params: { protocolVersion: string }): object {
  if (method !== 'initialize') return {}
  return {
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {}, logging: {} },
    serverInfo: { name: 'bench', version: '1' },
  }
}

function answer(response: ServerResponse, id: number, result: object): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

async function answerCall(response: ServerResponse, id: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const part of writes) {
    if (!response.write(part)) await new Promise(resolve => response.once('drain', resolve))
  }
  const result = { content: [{ type: 'text', text: 'done' }] }
  response.end(`id: end\nevent: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const part of request) body += part
  return body
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number }
  process.send?.({ url: `http://127.0.0.1:${port}/mcp` })
})
process.once('disconnect', () => process.exit())
