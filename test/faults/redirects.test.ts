import { ResilientSse } from 'resilient-sse'
import { cut, FaultServer, redirect, rest, type Step, send, stay } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { expectDials, FAST, failure, take } from './support.ts'

const STREAM: Step[] = [rest(), stay()]

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])(
    '%i is followed, and a redial starts from the original URL',
    async status => {
      await using server = await FaultServer.start({
        log: { count: 4 },
        routes: {
          '/events': [[redirect('/a', status)]],
          '/a': [[redirect('/b?x=1', status)]],
          '/b': [[send(2), cut()], STREAM],
        },
      })
      await take(new ResilientSse(server.url, { ...FAST, headers: { authorization: 'Bearer x' } }), 4)
      const path = ['/events', '/a', '/b?x=1']
      expect(server.requests.map(({ url }) => url)).toEqual([...path, ...path])
      const id = server.log.idAt(1)
      expectDials(server.requests, [undefined, undefined, undefined, id, id, id], {
        authorization: 'Bearer x',
      })
    },
  )

  test('to another origin carries no header of the user, not even on the way back; the id goes along', async () => {
    await using other = await FaultServer.start({ log: { count: 0 } })
    await using server = await FaultServer.start({
      log: { count: 4 },
      routes: { '/back': [[send(2), cut()], STREAM] },
      otherwise: [redirect(other.urlOf('/bounce'))],
    })
    other.setScript([], [redirect(server.urlOf('/back'), 307)])
    await take(
      new ResilientSse(server.url, { ...FAST, headers: { authorization: 'Bearer x', cookie: 'c=1' } }),
      4,
    )
    const id = server.log.idAt(1)
    expectDials(other.requests, [undefined, id])
    const own = { authorization: 'Bearer x', cookie: 'c=1' }
    const at = (url: string) => server.requests.filter(request => request.url === url)
    expectDials(at('/events'), [undefined, id], own)
    expectDials(at('/back'), [undefined, id])
    expect(server.requests).toHaveLength(4)
  })

  test.each([301, 302, 303])('%i of a POST goes on as GET without the body', async status => {
    await using server = await FaultServer.start({
      log: { count: 1 },
      routes: { '/events': [[redirect('/a', status)]] },
    })
    await take(
      new ResilientSse(server.url, {
        ...FAST,
        method: 'POST',
        body: '{"a":1}',
        headers: { 'content-type': 'application/json', 'x-own': '1' },
      }),
      1,
    )
    expect(server.requests.map(({ method, body }) => [method, body])).toEqual([
      ['POST', '{"a":1}'],
      ['GET', ''],
    ])
    expectDials(server.requests.slice(0, 1), [undefined], {
      'content-type': 'application/json',
      'content-length': '7',
      'x-own': '1',
    })
    expectDials(server.requests.slice(1), [undefined], { 'x-own': '1' })
  })

  test.each([307, 308])(
    '%i of a POST carries the body within the origin, and never to another',
    async status => {
      await using other = await FaultServer.start({ log: { count: 1 } })
      await using server = await FaultServer.start({
        log: { count: 1 },
        routes: { '/events': [[redirect('/a', status)]], '/off': [[redirect(other.url, status)]] },
      })
      const post = { ...FAST, method: 'POST', body: 'secret' }
      await take(new ResilientSse(server.url, post), 1)
      expect(server.requests.map(({ method, body }) => [method, body])).toEqual([
        ['POST', 'secret'],
        ['POST', 'secret'],
      ])
      const content = { 'content-type': 'text/plain;charset=UTF-8', 'content-length': '6' }
      expectDials(server.requests, [undefined, undefined], content)

      const { error } = await failure(new ResilientSse(server.urlOf('/off'), post))
      expect(error).toMatchObject({ code: 'ERR_SSE_REDIRECT', status })
      expectDials(other.requests, [])
    },
  )

  test.each<[string, Step, number]>([
    ['without Location', redirect(), 1],
    ['with a Location that is no URL', redirect('http://'), 1],
    ['to another scheme', redirect('ftp://example.com/'), 1],
    ['with credentials in it', redirect('http://user:pass@127.0.0.1/'), 1],
    ['to itself', redirect('@self'), 21],
  ])('%s is final', async (_, step, count) => {
    await using server = await FaultServer.start({ otherwise: [step] })
    const { error } = await failure(new ResilientSse(server.url, FAST))
    expect(error).toMatchObject({ code: 'ERR_SSE_REDIRECT', status: 302, retryable: false })
    expect(error.message).not.toContain('pass')
    expectDials(server.requests, Array(count).fill(undefined))
  })

  test('is counted within a dial: the twenty-second dial through one is as good as the first', async () => {
    await using server = await FaultServer.start({
      log: { count: 44 },
      // Two events a time: connections that end after one are taken for flapping, and paced.
      routes: { '/events': [[redirect('/a')]], '/a': [[send(2), cut()]] },
    })
    const quick = { ...FAST, backoff: { baseMs: 1, maxMs: 2 } }
    expect(await take(new ResilientSse(server.url, quick), 44)).toHaveLength(44)
    const ids = Array.from({ length: 22 }, (_, n) => (n === 0 ? undefined : server.log.idAt(2 * n - 1)))
    expectDials(
      server.requests,
      ids.flatMap(id => [id, id]),
    )
  })

  test('is followed twenty times, and then there is a stream', async () => {
    const routes = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        index === 0 ? '/events' : `/${index}`,
        [[redirect(`/${index + 1}`)]],
      ]),
    )
    await using server = await FaultServer.start({ log: { count: 1 }, routes })
    expect(await take(new ResilientSse(server.url, FAST), 1)).toHaveLength(1)
    expectDials(server.requests, Array(21).fill(undefined))
  })
})
