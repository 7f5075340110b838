import { expect, test, vi } from 'vitest'
import { type BodyHandler, TapSource } from '../src/tap.ts'

const STREAM = ['content-type', 'text/event-stream'].map(text => Buffer.from(text))

/** A request that was answered with these headers, seen from the fetch that asked and from undici. */
function answered(rawHeaders: Buffer[]) {
  const fetch = {
    onConnect: vi.fn<(abort: (reason: unknown) => void) => void>(),
    onHeaders: vi.fn(() => true),
    onData: vi.fn(() => true),
    onComplete: vi.fn(),
    onError: vi.fn(),
  }
  const abort = vi.fn()
  const onWritten = vi.fn()
  const tap = new TapSource()
  const undici = tap.handlerFor(fetch as BodyHandler, onWritten) as Required<BodyHandler>
  undici.onConnect(abort, undefined)
  undici.onHeaders(200, rawHeaders, () => {}, 'OK')
  const abortOfFetch = fetch.onConnect.mock.calls[0]?.[0] as (reason: unknown) => void
  return { fetch, abort, abortOfFetch, onWritten, tap, undici }
}

test('a fetch whose body was taken over is told that it was empty, and nothing after that', async () => {
  const { fetch, tap, undici } = answered(STREAM)
  expect(tap.takeOver(undefined)).toBe(tap)
  expect(fetch.onComplete).toHaveBeenCalledTimes(1)
  undici.onData(Buffer.from('data: 1\n\n'))
  expect(await tap.ready()).toBe(true)
  expect(String(tap.take()[0])).toBe('data: 1\n\n')
  const broken = new Error('reset')
  const read = tap.ready()
  undici.onError(broken)
  await expect(read).rejects.toBe(broken)
  expect(fetch.onData).not.toHaveBeenCalled()
  expect(fetch.onError).not.toHaveBeenCalled()
})

test('a body that had ended before it was taken over is not ended again', async () => {
  const { fetch, tap, undici } = answered(STREAM)
  undici.onData(Buffer.from('data: 1\n\n'))
  undici.onComplete([])
  tap.takeOver(undefined)
  expect(fetch.onComplete).toHaveBeenCalledTimes(1)
  expect(await tap.ready()).toBe(true)
  tap.take()
  expect(await tap.ready()).toBe(false)
})

test('the fetch ends the request until the body is taken over, then the dial does', () => {
  const { abort, abortOfFetch, tap } = answered(STREAM)
  abortOfFetch('before')
  expect(abort.mock.calls).toEqual([['before']])
  const dial = new AbortController()
  tap.takeOver(dial.signal)
  // undici does so when the response was collected as garbage.
  abortOfFetch('after')
  expect(abort).toHaveBeenCalledTimes(1)
  dial.abort('closed')
  expect(abort).toHaveBeenLastCalledWith('closed')
})

test('cancel() ends the request', () => {
  const { abort, tap } = answered(STREAM)
  tap.takeOver(undefined)
  tap.cancel('not wanted')
  expect(abort).toHaveBeenCalledWith('not wanted')
})

test.each([
  ['of another type', ['content-type', 'text/plain']],
  ['that is encoded', ['content-type', 'text/event-stream', 'content-encoding', 'gzip']],
])('a body %s stays with the fetch', (_, headers) => {
  const { fetch, tap, undici, abort, abortOfFetch } = answered(headers.map(text => Buffer.from(text)))
  expect(tap.takeOver(undefined)).toBeUndefined()
  undici.onData(Buffer.from('x'))
  undici.onComplete([])
  expect(fetch.onData).toHaveBeenCalledTimes(1)
  expect(fetch.onComplete).toHaveBeenCalledTimes(1)
  abortOfFetch('read enough')
  expect(abort).toHaveBeenCalledTimes(1)
})

test('the handler of an undici that is built otherwise is left alone', () => {
  const handler = { onRequestStart() {} } as BodyHandler
  const onWritten = vi.fn()
  expect(new TapSource().handlerFor(handler, onWritten)).toBe(handler)
  expect(onWritten).toHaveBeenCalledTimes(1)
})
