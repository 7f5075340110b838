import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PlainOptions } from './in-page.ts'
import { clientScript, openBrowser, PAGE, Place, type Stream, until } from './places.ts'

interface Request {
  method: string
  url: string
  headers: IncomingHttpHeaders
}

interface Rules {
  /** Headers of every answer to a GET. */
  cors: Record<string, string>
  /** The answer to OPTIONS. Default: 405, as of a server that never heard of it. */
  preflight?: Record<string, string>
}

const ANY_ORIGIN = { 'access-control-allow-origin': '*' }

/** Another origin than the page's. The first stream breaks after an event with an id, the others stay. */
class OtherOrigin implements AsyncDisposable {
  readonly requests: Request[] = []
  readonly #server: Server

  private constructor(rules: Rules) {
    this.#server = createServer(({ method = '', url = '', headers }, response) => {
      this.requests.push({ method, url, headers })
      if (method === 'OPTIONS') {
        response.writeHead(rules.preflight ? 204 : 405, rules.preflight).end()
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream', ...rules.cors })
      const streams = this.requests.filter(one => one.method === 'GET').length
      response.write(`retry: 101\nid: ${streams}\ndata: ${streams}\n\n`)
      // What a page has not read when a body breaks, it never reads.
      if (streams === 1) setTimeout(() => response.destroy(), 100)
    })
  }

  static async start(rules: Rules): Promise<OtherOrigin> {
    const server = new OtherOrigin(rules)
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/events`
  }

  /** Method, the id in the header and the one in the URL of each request. */
  get dials(): string[] {
    return this.requests.map(({ method, url, headers }) => {
      const parameter = new URL(url, 'http://a').searchParams.get('last')
      return [method, headers['last-event-id'], parameter && `?${parameter}`].filter(Boolean).join(' ')
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

let context: BrowserContext
let site: Server
let place: Place
let pageOrigin: string

beforeAll(async () => {
  const files: Record<string, [type: string, text: string]> = {
    '/': ['text/html', PAGE],
    '/client.js': ['text/javascript', await clientScript()],
  }
  site = createServer(({ url = '' }, response) => {
    const [type, text] = files[url] ?? ['text/plain', '']
    response.writeHead(200, { 'content-type': type }).end(text)
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  pageOrigin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  context = await openBrowser()
  place = await Place.open(context, 'page', {
    pageUrl: `${pageOrigin}/`,
    scriptUrl: `${pageOrigin}/client.js`,
  })
})
afterAll(async () => {
  await context.close()
  site.closeAllConnections()
  site.close()
})

const QUICK: PlainOptions = { backoff: { baseMs: 20, maxMs: 100 }, breaker: { threshold: 100 } }

const received = (stream: Stream, ...data: string[]) =>
  until(
    async () => (await stream.look()).events.map(event => event.data).join() === data.join(),
    `${data} received`,
  )

/** One stream of this kind, alone with its server. */
async function withStream(
  kind: 'native' | 'ours',
  rules: Rules,
  init: PlainOptions,
  use: (stream: Stream, server: OtherOrigin) => Promise<void>,
): Promise<void> {
  await using server = await OtherOrigin.start(rules)
  const stream = await place.start({
    kind,
    url: server.url,
    init: kind === 'ours' ? { ...QUICK, ...init } : init,
  })
  await use(stream, server).finally(() => stream.close())
}

describe('a server that answers OPTIONS with 405', () => {
  test.each(['native', 'ours'] as const)('%s opens: the first dial needs no preflight', kind =>
    withStream(kind, { cors: ANY_ORIGIN }, {}, async (stream, server) => {
      await received(stream, '1')
      expect(server.dials).toEqual(['GET'])
      expect(server.requests[0]?.headers).toMatchObject({
        accept: 'text/event-stream',
        'cache-control': 'no-cache',
        origin: pageOrigin,
      })
    }),
  )

  test('the native one resumes: its Last-Event-ID is sent without a preflight', () =>
    withStream('native', { cors: ANY_ORIGIN }, {}, async (stream, server) => {
      await received(stream, '1', '2')
      expect(server.dials).toEqual(['GET', 'GET 1'])
    }))

  test('ours cannot resume: each error says that CORS may be in the way of Last-Event-ID, and what does without it', () =>
    withStream('ours', { cors: ANY_ORIGIN }, {}, async (stream, server) => {
      await until(async () => (await stream.look()).errors.length >= 4, 'four errors')
      const { errors, readyState, events } = await stream.look()
      expect(events.map(event => event.data)).toEqual(['1'])
      expect(readyState).toBe(0)
      for (const { code, message } of errors.slice(1)) {
        expect(code).toBe('ERR_SSE_NETWORK')
        expect(message).toMatch(
          /CORS headers do not allow .* last-event-id; resume\.queryParameter does without/,
        )
      }
      const [first, ...others] = server.dials
      expect(first).toBe('GET')
      expect(new Set(others)).toEqual(new Set(['OPTIONS']))
    }))

  test('ours resumes with resume.queryParameter: the id is in the URL and in no header', () =>
    withStream(
      'ours',
      { cors: ANY_ORIGIN },
      { resume: { queryParameter: 'last' } },
      async (stream, server) => {
        await received(stream, '1', '2')
        expect(server.dials).toEqual(['GET', 'GET ?1'])
      },
    ))

  test('a header of the user is named when it may be the one that is not allowed', () =>
    withStream(
      'ours',
      { cors: ANY_ORIGIN },
      { headers: { 'X-Tenant': 'secret' } },
      async (stream, server) => {
        await until(async () => (await stream.look()).errors.length > 0, 'an error')
        const { errors } = await stream.look()
        expect(errors[0]?.message).toContain('do not allow this origin or the request header x-tenant')
        expect(errors[0]?.message).not.toContain('secret')
        expect(server.dials[0]).toBe('OPTIONS')
      },
    ))
})

test('where CORS allows Last-Event-ID, ours resumes after one preflight', () =>
  withStream(
    'ours',
    { cors: ANY_ORIGIN, preflight: { ...ANY_ORIGIN, 'access-control-allow-headers': 'Last-Event-ID' } },
    {},
    async (stream, server) => {
      await received(stream, '1', '2')
      expect(server.dials).toEqual(['GET', 'OPTIONS', 'GET 1'])
    },
  ))

test('without CORS headers nothing is delivered, and the error says so', () =>
  withStream('ours', { cors: {} }, {}, async stream => {
    await until(async () => (await stream.look()).errors.length > 0, 'an error')
    const { errors, events } = await stream.look()
    expect(events).toEqual([])
    expect(errors[0]).toMatchObject({ code: 'ERR_SSE_NETWORK', readyState: 0 })
    expect(errors[0]?.message).toMatch(/CORS headers do not allow this origin$/)
  }))

describe('cookies', () => {
  test.each([
    { kind: 'native', withCredentials: false },
    { kind: 'native', withCredentials: true },
    { kind: 'ours', withCredentials: false },
    { kind: 'ours', withCredentials: true },
  ] as const)('$kind, withCredentials $withCredentials', ({ kind, withCredentials }) => {
    const cors = { 'access-control-allow-origin': pageOrigin, 'access-control-allow-credentials': 'true' }
    return withStream(kind, { cors }, { withCredentials }, async (stream, server) => {
      await received(stream, '1')
      expect(server.requests[0]?.headers.cookie).toBe(withCredentials ? 'session=known' : undefined)
    })
  })
  beforeAll(() => context.addCookies([{ name: 'session', value: 'known', url: pageOrigin }]))
})
