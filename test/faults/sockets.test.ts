import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Agent, ResilientSse } from 'resilient-sse'
import { FaultServer, send, stay } from 'resilient-sse/testing'
import { expect, onTestFinished, test } from 'vitest'
import { expectDials, FAST, sleep, take, until } from './support.ts'

// What undici alone would leave behind when a request is aborted, seen from outside.

const pem = (name: string) =>
  readFileSync(new URL(`../fixtures/self-signed.${name}.pem`, import.meta.url), 'utf8')

// undici would put an aborted request back into its queue, dial for it, and only then see that it is gone.
test('close() does not open a connection of its own', async () => {
  await using server = await FaultServer.start({ log: { count: 1 }, otherwise: [send(1), stay()] })
  await take(new ResilientSse(server.url, FAST), 1)
  await until(() => server.openSockets === 0, 'the socket is free', 1_000)
  await sleep(100)
  expectDials(server.requests, [undefined])
  expect(server.connections).toBe(1)
})

// undici has no way to give up a connect: the socket would stay in SYN-SENT, and the process alive.
test('close() during the name lookup or the TCP connect leaves no socket', async () => {
  const sockets = () => process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length
  const before = sockets()
  let asked = false
  const stream = new ResilientSse('http://never-answered.test/events', {
    ...FAST,
    tcp: {
      connectTimeoutMs: 2_000,
      connect: {
        lookup: () => {
          asked = true
        },
      },
    },
  })
  const loop = take(stream, 1)
  await until(() => asked, 'the name is looked up')
  await stream.close()
  expect(await loop).toEqual([])
  await sleep(50)
  expect(sockets()).toBe(before)
})

// No fetch is left to do it, and an agent of the user's must not be destroyed.
test('close() frees a connection that a dispatcher of the user’s made', async () => {
  await using server = await FaultServer.start({ log: { count: 1 }, otherwise: [send(1), stay()] })
  const dispatcher = new Agent()
  onTestFinished(() => dispatcher.destroy())
  const stream = new ResilientSse(server.url, { ...FAST, dispatcher })
  const events = stream[Symbol.asyncIterator]()
  await events.next()
  expect(server.openSockets).toBe(1)
  await stream.close()
  await until(() => server.openSockets === 0, 'the socket is free', 1_000)
  expect(dispatcher.destroyed).toBe(false)
})

test('close() ends the HTTP/2 session of its stream', async () => {
  const server = createSecureServer({ key: pem('key'), cert: pem('cert') })
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', session => {
    sessions.add(session.on('error', () => {}))
    session.on('close', () => sessions.delete(session))
  })
  server.on('stream', stream => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' })
    stream.write('id: 1\ndata: x\n\n')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/events`
    await take(new ResilientSse(url, { ...FAST, tcp: { allowH2: true, connect: { ca: pem('cert') } } }), 1)
    await sleep(300)
    expect(sessions.size).toBe(0)
  } finally {
    for (const session of sessions) session.destroy()
    server.close()
  }
})
