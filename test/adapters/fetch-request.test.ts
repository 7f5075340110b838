import { keepaliveFetch, resilientFetch } from 'resilient-sse'
import { describe, expect, test } from 'vitest'
import { receive, STREAM } from './fetch-body.ts'
import { serve, status } from './server.ts'

test.each(['GET', 'POST'])('an interim answer (103) stops no stream behind it: %s', async method => {
  await using server = await serve(response => {
    response.writeEarlyHints({ link: '</style.css>' })
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: a\n\n')
  })
  const { events } = await receive(await resilientFetch()(server.url, { method, ...STREAM }))
  expect(events).toMatchObject([{ data: 'a' }])
})

describe.each([
  ['resilientFetch', resilientFetch()],
  ['keepaliveFetch', keepaliveFetch()],
  ['the platform’s fetch', globalThis.fetch],
])('what is asked for is understood as by any fetch: %s', (_, fetch) => {
  test('a Request in place of the options, its signal and redirect mode included', async () => {
    await using server = await serve(
      response => response.writeHead(302, { location: '/other' }).end(),
      (response, request) => response.end(`${request.method} ${request.headers['x-mine']}`),
    )
    const reason = new Error('enough')
    const ended = new Request(server.url, { signal: AbortSignal.abort(reason) })
    await expect(fetch(server.url, ended)).rejects.toBe(reason)
    const manual = await fetch(server.url, new Request(server.url, { redirect: 'manual' }))
    expect(manual.status).toBe(302)
    const request = new Request(server.url, { method: 'POST', body: 'x', headers: { 'x-mine': '1' } })
    expect(await (await fetch(server.url, request)).text()).toBe('POST 1')
  })

  test('no options at all, said with null', async () => {
    await using server = await serve(status(200))
    expect(await fetch(server.url, null as never)).toMatchObject({ status: 200 })
  })

  test('a body of null, which leaves that of the Request', async () => {
    await using server = await serve((response, request) => request.pipe(response))
    const request = new Request(server.url, { method: 'POST', body: 'text' })
    expect(await (await fetch(request, { body: null })).text()).toBe('text')
  })

  test('a redirect without a Location, which leads nowhere and is the answer', async () => {
    await using server = await serve(response => response.writeHead(302).end('text'))
    for (const init of [{}, STREAM]) {
      const response = await fetch(server.url, init)
      expect([response.status, await response.text()]).toEqual([302, 'text'])
    }
  })
})
