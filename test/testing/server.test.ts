import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  answer,
  cut,
  end,
  eventLog,
  FaultServer,
  redirect,
  reset,
  rest,
  send,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, it } from 'vitest'
import { dial, parse, read, sleep, until } from './client.js'

describe('the fault server', () => {
  it('sends the log in order, and goes on after the event that Last-Event-ID names', async () => {
    const log = eventLog({ count: 50, bytes: [20, 20_000] })
    await using server = await FaultServer.start({
      log,
      script: [[send(20), end()]],
      otherwise: [rest(), end()],
    })
    const first = parse((await read(server.url)).text)
    expect(first.map(e => e.data)).toEqual(Array.from({ length: 20 }, (_, i) => log.at(i).data))
    const second = parse((await read(server.url, { id: first[19]?.id ?? '' })).text)
    expect(second.map(e => e.data)).toEqual(Array.from({ length: 30 }, (_, i) => log.at(20 + i).data))
    expect(server.requests.map(r => r.lastEventId)).toEqual([undefined, log.at(19).id])
    expect(server.sent()).toHaveLength(50)
  })

  it('sends everything and stays open when it was given no script', async () => {
    await using server = await FaultServer.start()
    const got = dial(server.port)
    await until(() => server.requests[0]?.eventsWritten === 100)
    expect(got.ended).toBe(false)
    expect(server.openSockets).toBe(1)
    got.socket.destroy()
    await until(() => server.openSockets === 0)
    expect(server.requests[0]).toMatchObject({ closedBy: 'client', status: 200, lastIndex: 99 })
  })

  it('answers a request of HTTP/1.0 without chunks and ends the body with the connection', async () => {
    await using server = await FaultServer.start({ log: { count: 2 }, otherwise: [rest(), end()] })
    const old = dial(server.port, 'GET /events HTTP/1.0\r\nConnection: keep-alive\r\n\r\n')
    await until(() => old.ended)
    expect(old.text).not.toMatch(/transfer-encoding/i)
    expect(old.text.split('\r\n\r\n')[1]).toMatch(/^id: /)
    await read(server.url)
    expect(server.requests.map(r => r.httpVersion)).toEqual(['1.0', '1.1'])
  })

  it('records every request as it came', async () => {
    await using server = await FaultServer.start({ otherwise: [answer(200)] })
    await read(`${server.url}?a=1`, { method: 'POST', body: 'héllo' })
    const head = 'PUT /x HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a: 2\r\nTransfer-Encoding: chunked\r\n\r\n'
    const got = dial(server.port, `${head}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`)
    await server.waitForClose(1)
    got.socket.destroy()
    expect(server.requests[0]).toMatchObject({ index: 0, method: 'POST', url: '/events?a=1', body: 'héllo' })
    expect(server.requests[1]).toMatchObject({
      index: 1,
      method: 'PUT',
      url: '/x',
      body: 'abcde',
      connectionId: 2,
    })
    expect(server.requests[1]?.headers).toMatchObject({ host: 'a', 'x-a': '2' })
    expect(server.requests[1]?.rawHeaders.slice(2, 6)).toEqual(['X-A', '1', 'x-a', '2'])
    expect(server.requests[1]?.localAddress).toBe('127.0.0.1')
    expect(JSON.parse(JSON.stringify(server.requests[1]))).toMatchObject({
      writeBlockedMs: 0,
      eventsWritten: 0,
    })
  })

  it('takes several requests on one socket when the script leaves it open', async () => {
    await using server = await FaultServer.start({
      script: [[redirect('/there')], [send(1), end()], [answer(404)], [send(1), cut()]],
    })
    const got = dial(server.port)
    for (let n = 1; n <= 4; n++) {
      await server.waitForClose(n - 1)
      if (n < 4) got.socket.write(`GET /${n} HTTP/1.1\r\n\r\n`)
    }
    await got.closed
    expect(got.text.match(/HTTP\/1.1 \d+/g)).toEqual([
      'HTTP/1.1 302',
      'HTTP/1.1 200',
      'HTTP/1.1 404',
      'HTTP/1.1 200',
    ])
    expect(server.requests.map(request => request.url)).toEqual(['/events', '/1', '/2', '/3'])
    expect(server.requests.map(request => request.connectionId)).toEqual([1, 1, 1, 1])
    expect(server.connections).toBe(1)
  })

  it('closes the socket after the answer when the request asks for it', async () => {
    await using server = await FaultServer.start({ otherwise: [send(1), end()] })
    const got = dial(server.port, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n')
    await got.closed
    expect(got.text).toContain('Connection: close')
    expect(got.text.endsWith('0\r\n\r\n')).toBe(true)
  })

  it('answers the paths of routes with scripts of their own, the last of which repeats', async () => {
    const routes = { '/health': [[answer(500)], [answer(200)]] }
    await using server = await FaultServer.start({ script: [[answer(503)]], routes })
    const statuses = []
    for (const path of ['/health', '/health?x', '/health', '/events'])
      statuses.push((await read(server.urlOf(path))).status)
    expect(statuses).toEqual([500, 200, 200, 503])
  })

  it('refuses connections until it accepts again, on the same port, and leaves open streams alone', async () => {
    await using server = await FaultServer.start()
    const { port } = server
    const open = dial(port)
    await until(() => open.text !== '')
    server.refuse()
    const refused = dial(port)
    await refused.closed
    expect(refused.code).toBe('ECONNREFUSED')
    expect(open.ended).toBe(false)
    await server.accept()
    const again = dial(port)
    await until(() => again.text !== '')
    expect(server.port).toBe(port)
    open.socket.destroy()
    again.socket.destroy()
  })

  it('refuses from the start with refuseFirstMs', async () => {
    await using server = await FaultServer.start({ refuseFirstMs: 400 })
    const refused = dial(server.port)
    await refused.closed
    expect(refused.code).toBe('ECONNREFUSED')
    await sleep(600)
    const accepted = dial(server.port)
    await until(() => accepted.text !== '')
    accepted.socket.destroy()
  })

  it('resets every open stream with resetAll()', async () => {
    await using server = await FaultServer.start()
    const dials = [dial(server.port), dial(server.port)]
    await until(() => dials.every(one => one.text.endsWith('\n\n\r\n')))
    server.resetAll()
    await Promise.all(dials.map(one => one.closed))
    expect(dials.map(one => one.code)).toEqual(['ECONNRESET', 'ECONNRESET'])
    expect(server.requests.map(request => request.closedBy)).toEqual(['server', 'server'])
  })

  it('says what it waited for in vain', async () => {
    await using server = await FaultServer.start()
    await expect(server.waitForRequests(1, 20)).rejects.toThrow('waited 20 ms for 1 requests, 0 came')
    await expect(server.waitForClose(0, 20)).rejects.toThrow('waited 20 ms for the end of request 0')
  })

  it('ends everything with close(): streams, idle sockets and the port', async () => {
    const server = await FaultServer.start()
    const stream = dial(server.port)
    const idle = connect(server.port, '127.0.0.1')
    const idleClosed = new Promise(resolve => idle.on('error', () => {}).once('close', resolve))
    await until(() => server.openSockets === 2 && stream.text !== '')
    await server.close()
    await Promise.all([stream.closed, idleClosed])
    expect(server.openSockets).toBe(0)
    const refused = dial(server.port)
    await refused.closed
    expect(refused.code).toBe('ECONNREFUSED')
    await server.close()
  })

  it('listens on several addresses with one port', async () => {
    await using server = await FaultServer.start({
      host: ['127.0.0.1', '127.0.0.2'],
      otherwise: [answer(204)],
    })
    await read(server.url)
    await read(server.url.replace('127.0.0.1', '127.0.0.2'))
    expect(server.requests.map(request => request.localAddress)).toEqual(['127.0.0.1', '127.0.0.2'])
  })

  it('speaks TLS, and can reset such a connection too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fault-server-'))
    const key = join(folder, 'key.pem')
    const cert = join(folder, 'cert.pem')
    const made = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
    ]
    execFileSync('openssl', [...made, '-subj', '/CN=localhost', '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    })
    const tls = { key: readFileSync(key), cert: readFileSync(cert) }
    rmSync(folder, { recursive: true })
    await using server = await FaultServer.start({
      tls,
      script: [[send(3), reset()], [send(3), cut()], [send(2)]],
    })
    expect(server.url).toMatch(/^https:/)
    const first = await read(server.url)
    expect(first.code).toBe('ECONNRESET')
    expect(parse(first.text)).toHaveLength(3)
    const second = await read(server.url)
    expect(second.error).toBeDefined()
    expect(parse(second.text)).toHaveLength(3)
    expect(parse((await read(server.url)).text)).toHaveLength(2)
  })

  it.each([
    [{ port: 70_000 }, 'port'],
    [{ host: '' }, 'host'],
    [{ path: 'events' }, 'path'],
    [{ onUnknownId: 'never' }, 'onUnknownId'],
    [{ refuseFirstMs: -1 }, 'refuseFirstMs'],
    [{ routes: { health: [] } }, 'routes'],
    [{ otherwise: [{ do: 'nothing' }] }, 'otherwise[0].do'],
    [{ script: [stay()] }, 'script[0]'],
    [{ scripts: [] }, 'scripts'],
    [{ tls: { key: 'no', cert: 'pem' } }, 'tls'],
    [{ log: { count: 1.5 } }, 'log.count'],
  ])('refuses %j and names the option', async (options, option) => {
    await expect(FaultServer.start(options as object)).rejects.toMatchObject({
      code: 'ERR_FAULT_SERVER_OPTION',
      option,
    })
  })
})
