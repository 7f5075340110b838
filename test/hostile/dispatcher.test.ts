import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { ResilientSse } from 'resilient-sse'
import { Agent, interceptors, ProxyAgent } from 'undici'
import { expect, onTestFinished, test } from 'vitest'

async function serve(onRequest: (socket: Socket) => void): Promise<string> {
  const server: Server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', () => onRequest(socket))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

// Interceptors hand on everything that a handler is told but that its request was sent.
const dispatchers = [
  ['a plain agent', () => new Agent()],
  ['the dns interceptor', () => new Agent().compose(interceptors.dns())],
  ['the dump interceptor', () => new Agent().compose(interceptors.dump())],
] as const

test.each(dispatchers)('a POST that may have been received is not sent again: %s', async (_, dispatcher) => {
  let requests = 0
  const url = await serve(socket => {
    requests++
    socket.resetAndDestroy()
  })
  const options = { method: 'POST', body: 'pay', dispatcher: dispatcher(), backoff: { baseMs: 1, maxMs: 2 } }
  const reading = new ResilientSse(url, options)[Symbol.asyncIterator]().next()
  await expect(reading).rejects.toMatchObject({ code: 'ERR_SSE_NOT_RESENT' })
  expect(requests).toBe(1)
})

test.each(dispatchers)(
  'headers that are withheld are not taken for no connection: %s',
  async (_, dispatcher) => {
    const sockets: Socket[] = []
    const url = await serve(socket => sockets.push(socket))
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
    })
    const options = { dispatcher: dispatcher(), openTimeoutMs: 100, backoff: { maxAttempts: 1 } }
    const reading = new ResilientSse(url, options)[Symbol.asyncIterator]().next()
    await expect(reading).rejects.toThrow(/^No response headers/)
  },
)

// The dump interceptor itself stumbles over the second head.
test.each(dispatchers.slice(0, 2))(
  'an interim answer (103) stops no stream behind it: %s',
  async (_, dispatcher) => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n'
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/event-stream\r\n\r\n'
    const url = await serve(socket => socket.end(`${hints}${head}9\r\ndata: a\n\n\r\n0\r\n\r\n`))
    const events: string[] = []
    for await (const { data } of new ResilientSse(url, { dispatcher: dispatcher(), reconnectOnEnd: false }))
      events.push(data)
    expect(events).toEqual(['a'])
  },
)

test('a proxy that refuses the tunnel for a while is asked again', async () => {
  const answers = ['502 Bad Gateway', '503 Service Unavailable']
  const events = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: through\n\n`
  const url = await serve(socket => {
    const refusal = answers.shift()
    if (refusal !== undefined) socket.end(`HTTP/1.1 ${refusal}\r\ncontent-length: 0\r\n\r\n`)
    else {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.removeAllListeners('data').once('data', () => socket.end(events))
    }
  })
  const dispatcher = new ProxyAgent({ uri: url, proxyTunnel: true })
  const stream = new ResilientSse('http://service.test/', { dispatcher, backoff: { baseMs: 1, maxMs: 2 } })
  expect(await stream[Symbol.asyncIterator]().next()).toMatchObject({ value: { data: 'through' } })
  expect(answers).toEqual([])
  await stream.close()
})
