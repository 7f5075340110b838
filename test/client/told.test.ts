import { expect, test } from 'vitest'
import { Body, block, open, status, URL_OF_EVENTS, World } from './world.ts'

test('what is told of dials, opens and drops says which, how long, and whether it was a resume', async () => {
  const later = (ms: number, response: () => Response) =>
    new Promise<Response>(resolve => setTimeout(() => resolve(response()), ms))
  const body = new Body()
  const world = new World([
    () => later(250, () => body.response()),
    () => status(503),
    () => later(40, () => open(block(2))),
  ])
  const consumer = world.stream({ backoff: { jitter: 0 } }).run()
  await world.pass(300)
  body.send(block(1))
  await world.pass(5_000)
  body.send('data: cut').break()
  await world.pass(60_000)
  const url = URL_OF_EVENTS
  expect(consumer.tellings('dial')).toMatchObject([
    { url, attempt: 1, lastEventId: undefined },
    { url, attempt: 1, lastEventId: '1' },
    { url, attempt: 2, lastEventId: '1' },
  ])
  expect(consumer.tellings('open')).toMatchObject([
    { url, status: 200, tookMs: 250, resumed: false },
    { url, status: 200, tookMs: 40, resumed: true },
  ])
  expect(consumer.tellings('drop')).toMatchObject([
    { reason: 'network', opened: true, openMs: 5_050, events: 1 },
    { reason: 'refused', opened: false, openMs: 0, events: 0, discardedChars: 0 },
  ])
})

test('the bytes that were read are counted, of all connections together', async () => {
  const texts = [': hello\n\n', block(1), 'data: é\n\n']
  const body = new Body()
  const world = new World(() => body.response())
  const consumer = world.stream().run()
  for (const text of texts) {
    body.send(text)
    await world.settle()
  }
  expect(consumer.stream.stats().bytes).toBe(Buffer.byteLength(texts.join('')))
})
