import { createServer, type Socket } from 'node:net'
import { fetch } from 'undici'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DialAgent } from '../../src/dial-agent.ts'
import { TCP_DEFAULTS } from '../../src/layers/tcp.ts'

// In a file of its own: the clock of undici's timeouts runs on the timers that it finds when it first needs one.
test('undici never gives a dial up, however long the server withholds its headers or its body', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const sockets: Socket[] = []
  const asked: string[] = []
  const server = createServer(socket => {
    sockets.push(socket.on('error', () => {}))
    socket.on('data', data => {
      const [, path = ''] = String(data).split(' ')
      asked.push(path)
      if (path === '/body') socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  onTestFinished(() => {
    vi.useRealTimers()
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  const dial = (path: string) => fetch(origin + path, { dispatcher: new DialAgent(TCP_DEFAULTS).for(origin) })
  const ends: string[] = []
  const body = await dial('/body')
  for (const end of [body.text(), dial('/headers')]) {
    end.catch(error => ends.push(String(error.cause ?? error)))
  }
  while (asked.length < 2) await new Promise(setImmediate)
  for (let minute = 0; minute < 20; minute++) await vi.advanceTimersByTimeAsync(60_000)
  await new Promise(setImmediate)
  expect(ends).toEqual([])
})
