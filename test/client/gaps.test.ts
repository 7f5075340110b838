import { describe, expect, test } from 'vitest'
import { type SseError, SseGapError } from '../../src/errors.ts'
import { block, blocks, broken, expectNothingLeft, open, World } from './world.ts'

describe('duplicates', () => {
  test('are dropped, counted and told as one run', async () => {
    const world = new World([() => broken(blocks(1, 5)), () => open(blocks(3, 7))])
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(consumer.data).toEqual([1, 2, 3, 4, 5, 6, 7].map(id => `data ${id}`))
    expect(consumer.tellings('duplicate')).toMatchObject([{ count: 3, firstId: '3', lastId: '5' }])
    expect(consumer.stream.stats()).toMatchObject({ events: 7, dedupe: { duplicates: 3 } })
  })

  test.each([
    ['events that were forgotten', { dedupe: { capacity: 1 } }, blocks(1, 3), blocks(2, 3)],
    [
      'events without an id',
      {},
      `id: 1\n\ndata: x\n\n${blocks(2, 3)}`,
      `id: 1\n\ndata: x\n\n${blocks(2, 3)}`,
    ],
  ])(
    'do not take the cursor back when %s are delivered again among them',
    async (_, options, first, second) => {
      const world = new World([() => broken(first), () => broken(second), () => open()])
      world.stream(options).run()
      await world.pass(20_000)
      expect(world.lastEventIds).toEqual([null, '3', '3'])
    },
  )

  test('are delivered with layer 5 off', async () => {
    const world = new World([() => broken(blocks(1, 5)), () => open(blocks(3, 7))])
    const consumer = world.stream({ dedupe: false }).run()
    await world.pass(5_000)
    expect(consumer.data).toHaveLength(10)
  })
})

describe('gaps', () => {
  test('no-cursor: a stream without ids broke', async () => {
    const world = new World([() => broken('data: a\n\n'), () => open('data: c\n\n')])
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toMatchObject([
      { reason: 'no-cursor', after: undefined, before: undefined },
    ])
    expect(consumer.data).toEqual(['a', 'c'])
  })

  test('cursor-ignored: the server replays everything', async () => {
    const world = new World([() => broken(blocks(1, 10)), () => open(blocks(1, 12))])
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toMatchObject([{ reason: 'cursor-ignored', after: '10' }])
    expect(consumer.data).toHaveLength(12)
  })

  test('ids-reused: the server numbers anew', async () => {
    const world = new World([() => broken(blocks(1, 3)), () => open(`${block(1, 'x')}${block(2, 'y')}`)])
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toMatchObject([{ reason: 'ids-reused', after: '3', before: '1' }])
    expect(consumer.data.slice(3)).toEqual(['x', 'y'])
  })

  test("missing: isNext 'decimal' sees an id skipped, across a reconnect and within a connection", async () => {
    const world = new World([() => broken(blocks(1, 3)), () => open(`${blocks(6, 7)}${block(9)}`)])
    const consumer = world.stream({ resume: { isNext: 'decimal' } }).run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toMatchObject([
      { reason: 'missing', after: '3', before: '6' },
      { reason: 'missing', after: '7', before: '9' },
    ])
    expect(consumer.data).toHaveLength(6)
    expect(consumer.stream.stats().resume.gaps).toBe(2)
  })

  test('missing is seen after a seed, too', async () => {
    const world = new World(() => open(block(7)))
    const consumer = world.stream({ resume: { isNext: 'decimal', lastEventId: '5' } }).run()
    await world.settle()
    expect(consumer.tellings('gap')).toMatchObject([{ reason: 'missing', after: '5', before: '7' }])
  })

  test('a new numbering is told once, not as skipped ids as well', async () => {
    const anew = [1, 2, 4].map(id => block(id, 'new')).join('')
    const world = new World([() => broken(blocks(1, 3)), () => open(anew)])
    const consumer = world.stream({ resume: { isNext: 'decimal' } }).run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toMatchObject([
      { reason: 'ids-reused', after: '3', before: '1' },
      { reason: 'missing', after: '2', before: '4' },
    ])
  })

  test('events ahead of a new numbering, in one read with it, are checked by the old one', async () => {
    const anew = block(6) + block(1, 'new') + block(2, 'new')
    const world = new World([() => broken(blocks(1, 3)), () => open(anew)])
    const consumer = world.stream({ resume: { isNext: 'decimal' } }).run()
    await world.pass(5_000)
    expect(consumer.tellings('gap').map(({ reason, after, before }) => [reason, after, before])).toEqual([
      ['ids-reused', '3', '1'],
      ['missing', '3', '6'],
    ])
  })

  test("of two gaps in one read the earlier ends the stream, with onGap: 'throw'", async () => {
    // A new process that knows of event 5 alone is sent 3 to 6: 3 does not follow, and 5 says that the server began there.
    const world = new World(() => open(blocks(3, 6)))
    const resume = { lastEventId: '5', isNext: 'decimal', onGap: 'throw' } as const
    const consumer = world.stream({ resume }).run()
    await world.settle()
    expect(consumer.tellings('gap').map(({ reason }) => reason)).toEqual(['cursor-ignored', 'missing'])
    expect(consumer.error).toMatchObject({ code: 'ERR_SSE_GAP', reason: 'missing', after: '5', before: '3' })
    expect(consumer.data).toEqual([])
  })

  test('a replayed event is no skipped one', async () => {
    const world = new World([() => broken(blocks(1, 5)), () => open(blocks(4, 6))])
    const consumer = world.stream({ resume: { isNext: 'decimal' } }).run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toEqual([])
  })

  test.each([
    ['no-cursor', ['data: a\n\n', 'data: b\n\n'], {}],
    ['cursor-ignored', [blocks(1, 5), blocks(1, 6)], {}],
    ['ids-reused', [blocks(1, 5), block(1, 'new')], {}],
    ['missing', [block(1), block(3)], { isNext: 'decimal' }],
  ] as const)("%s ends the stream with onGap: 'throw'", async (reason, [first, second], resume) => {
    const world = new World([() => broken(first), () => open(second)])
    const consumer = world.stream({ resume: { ...resume, onGap: 'throw' } }).run()
    await world.pass(60_000)
    expect(consumer.error).toBeInstanceOf(SseGapError)
    expect(consumer.error).toMatchObject({ code: 'ERR_SSE_GAP', reason, retryable: false })
    expect((consumer.error as SseError).history.at(-1)).toMatchObject({ type: 'gap' })
    expect([world.dials.length, consumer.stream.state]).toEqual([2, 'closed'])
    expectNothingLeft()
  })

  test.each([
    ['missing', () => open(blocks(1, 2) + block(4)), { isNext: 'decimal' }],
    ['ids-reused', () => open(block(11) + block(1, 'new')), {}],
  ] as const)(
    "%s in the middle of a read is thrown after what came before it, with onGap: 'throw'",
    async (reason, second, resume) => {
      const world = new World(reason === 'missing' ? second : [() => broken(blocks(1, 10)), second])
      const consumer = world.stream({ resume: { ...resume, onGap: 'throw' } }).run()
      await world.pass(5_000)
      expect(consumer.error).toMatchObject({ code: 'ERR_SSE_GAP', reason })
      const expected =
        reason === 'missing' ? ['1', '2'] : [...Array.from({ length: 10 }, (_, n) => String(n + 1)), '11']
      expect(consumer.data).toEqual(expected.map(id => `data ${id}`))
      expect(consumer.stream.lastEventId).toBe(expected.at(-1))
      expectNothingLeft()
    },
  )

  test('are not told with layer 3 off', async () => {
    const world = new World([() => broken('data: a\n\n'), () => open()])
    const consumer = world.stream({ resume: false }).run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toEqual([])
  })
})

test('a greeting on each connection, with a small overlap behind it, is no full replay', async () => {
  const greeting = block('hello', 'welcome')
  const world = new World([() => broken(greeting + blocks(1, 8)), () => open(greeting + blocks(7, 9))])
  const consumer = world.stream({ resume: { onGap: 'throw' } }).run()
  await world.pass(5_000)
  expect(consumer.tellings('gap')).toEqual([])
  expect(consumer.data).toEqual(['welcome', ...Array.from({ length: 9 }, (_, n) => `data ${n + 1}`)])
})
