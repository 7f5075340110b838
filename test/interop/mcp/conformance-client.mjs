// The client under test: node conformance-client.mjs v1|v2 bare|wrapped URL. It connects, lists the tools and calls each.
import { mcpFetch } from 'resilient-sse/mcp'

const [line, how, address] = process.argv.slice(2)
const url = new URL(address)
const options = how === 'wrapped' ? { fetch: mcpFetch() } : {}
const info = { name: 'resilient-sse-conformance', version: '1.0.0' }
const client = line === 'v1' ? await connectV1() : await connectV2()
const { tools } = await client.listTools()
// A scenario may say itself which calls it wants to see.
const { toolCalls } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const calls =
  toolCalls ?? tools.map(({ name, inputSchema }) => ({ name, arguments: argumentsFor(inputSchema) }))
for (const { name, arguments: given } of calls) {
  // A tool that fails may be what a scenario is about.
  await client.callTool({ name, arguments: given }).catch(error => console.error(String(error)))
}
await client.close()

async function connectV1() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  const connected = new Client(info)
  await connected.connect(new StreamableHTTPClientTransport(url, options))
  return connected
}

async function connectV2() {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION
  const modern = version >= '2026' ? { versionNegotiation: { mode: { pin: version } } } : {}
  const connected = new Client(info, { ...modern, capabilities: { elicitation: {} } })
  connected.setRequestHandler('elicitation/create', () => ({
    action: 'accept',
    content: { confirmed: true },
  }))
  await connected.connect(new StreamableHTTPClientTransport(url, options))
  return connected
}

/** A value of the right type for each property. */
function argumentsFor({ properties = {} } = {}) {
  const examples = { number: 2, integer: 2, boolean: true, string: 'text', array: [], object: {} }
  return Object.fromEntries(
    Object.entries(properties).map(([name, { type }]) => [name, examples[type] ?? 'text']),
  )
}
