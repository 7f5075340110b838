import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'

// What only a process of its own can show: whether it ends, and what becomes of an exception that nobody catches.

const built = fileURLToPath(new URL('../../dist/eventsource.js', import.meta.url))
if (!existsSync(built)) throw new Error('dist/eventsource.js is missing: run npm run build first')

const PRELUDE = `
import { createServer } from 'node:http'
import { EventSource } from ${JSON.stringify(pathToFileURL(built).href)}
const requests = []
const server = createServer((request, response) => {
  requests.push(request)
  globalThis.answer(request, response)
}).listen(0, '127.0.0.1')
await new Promise(resolve => server.once('listening', resolve))
const url = 'http://127.0.0.1:' + server.address().port + '/'
globalThis.answer = (_, response) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\\ndata: 1\\n\\ndata: 2\\n\\n')
// The server alone keeps nobody.
server.unref()
server.on('connection', socket => socket.unref())
`

function run(script: string) {
  const { stdout, stderr, status, signal } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', PRELUDE + script],
    { encoding: 'utf8', timeout: 25_000 },
  )
  return { lines: stdout.trim().split('\n'), stderr, status, signal }
}

describe('a process', () => {
  test.each([
    ['before it dials', `new EventSource(url).close()`],
    ['while it dials', `answer = () => es.close(); const es = new EventSource(url)`],
    ['when it opens', `const es = new EventSource(url); es.onopen = () => es.close()`],
    ['at an event', `const es = new EventSource(url); es.onmessage = () => es.close()`],
    [
      'while it is open and silent',
      `const es = new EventSource(url); es.onopen = () => setTimeout(() => es.close(), 100)`,
    ],
    [
      'while it waits',
      `answer = (_, response) => response.writeHead(503, { 'retry-after': '3600' }).end()
       const es = new EventSource(url); es.onerror = () => setTimeout(() => es.close(), 50)`,
    ],
    [
      'while its breaker waits',
      `answer = (_, response) => response.writeHead(503).end()
       const es = new EventSource(url, { breaker: { threshold: 1, cooldownMs: 300_000 } })
       es.onerror = () => setTimeout(() => es.close(), 50)`,
    ],
    [
      'by its signal',
      `const es = new EventSource(url, { signal: AbortSignal.timeout(300) })
      es.onopen = () => setTimeout(() => {}, 400)`,
    ],
  ])('ends by itself once its source was closed %s', (_when, script) => {
    expect(run(`${script}\nprocess.on('exit', () => console.log('over'))`)).toMatchObject({
      lines: ['over'],
      status: 0,
    })
  })

  test.each([
    ['the server said that it is over', `answer = (_, response) => response.writeHead(204).end()`],
    ['the server refused', `answer = (_, response) => response.writeHead(404).end()`],
  ])('ends by itself once %s', (_when, script) => {
    expect(run(`${script}\nnew EventSource(url).onerror = event => console.log(event.status)`)).toMatchObject(
      {
        lines: [expect.stringMatching(/^(204|404)$/)],
        status: 0,
      },
    )
  })

  test.each([
    ['is open', 200],
    ['waits for its next dial', 503],
  ])('is kept alive by a source that %s', (_what, status) => {
    const { lines } = run(`
      answer = (_, response) => ${status} === 200
        ? response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
        : response.writeHead(503, { 'retry-after': '3600' }).end()
      const es = new EventSource(url)
      process.on('exit', () => console.log('ended'))
      // Whoever looks must not keep the process, either.
      setTimeout(() => { console.log('alive ' + es.readyState); es.close() }, 600).unref()
    `)
    expect(lines).toEqual([`alive ${status === 200 ? 1 : 0}`, 'ended'])
  })
})

describe('an exception in a handler', () => {
  test('is reported as uncaught, and hurts neither the stream nor the other listeners', () => {
    const { lines, status } = run(`
      process.on('uncaughtException', error => console.log('uncaught ' + error.message))
      const es = new EventSource(url)
      es.onopen = () => { throw new Error('open') }
      es.onmessage = ({ data }) => { throw new Error(data) }
      es.addEventListener('message', ({ data }) => {
        console.log('heard ' + data)
        if (data === '2') es.close()
      })
    `)
    expect(status).toBe(0)
    expect([...lines].sort()).toEqual(['heard 1', 'heard 2', 'uncaught 1', 'uncaught 2', 'uncaught open'])
    expect(lines.indexOf('heard 1')).toBeLessThan(lines.indexOf('heard 2'))
  })

  test('ends the process when nobody catches it, as anywhere', () => {
    const { stderr, status } = run(`new EventSource(url).onmessage = () => { throw new Error('mine') }`)
    expect(stderr).toContain('Error: mine')
    expect(status).not.toBe(0)
  })

  test('is reported, too, when an async handler rejects', () => {
    const { lines } = run(`
      process.on('uncaughtException', error => console.log('uncaught ' + error.message))
      const es = new EventSource(url)
      es.onmessage = async ({ data }) => { if (data === '2') es.close(); throw new Error(data) }
    `)
    expect(lines).toEqual(['uncaught 1', 'uncaught 2'])
  })

  test('in onLifecycle, onComment and a store is nobody’s business', () => {
    const { lines, status } = run(`
      answer = (_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hi\\n\\nid: 1\\ndata: 1\\n\\n')
      const fail = () => { throw new Error('mine') }
      const es = new EventSource(url, { onLifecycle: fail, onComment: fail, resume: { store: { load: () => undefined, save: fail } } })
      es.onmessage = ({ data }) => { console.log(data); es.close() }
    `)
    expect({ lines, status }).toEqual({ lines: ['1'], status: 0 })
  })
})
