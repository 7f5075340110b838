import { expect, test } from 'vitest'
import { block, broken, open, World } from '../client/world.ts'

const blocks = (from: number, to: number, name = '') =>
  Array.from({ length: to - from + 1 }, (_, index) => block(`${name}${from + index}`)).join('')

test.each([
  ['honours the id again', () => blocks(101, 110)],
  ['begins at its first event again', () => blocks(1, 110)],
])(
  'a replay longer than the capacity that was cut off doubles nothing, when the server then %s',
  async (_, rest) => {
    const answers = [() => broken(blocks(1, 100)), () => broken(blocks(1, 40)), () => open(rest())]
    const world = new World(answers)
    const consumer = world.stream({ dedupe: { capacity: 10 } }).run()
    await world.pass(60_000)
    expect(world.lastEventIds).toEqual([null, '100', '100'])
    expect(consumer.data).toEqual(Array.from({ length: 110 }, (_, index) => `data ${index + 1}`))
  },
)

test('new events behind a replay whose log lost its end are not taken for the rest of the replay', async () => {
  const world = new World([() => broken(blocks(1, 100)), () => open(blocks(1, 50) + blocks(1, 60, 'new '))])
  const consumer = world.stream().run()
  await world.pass(5_000)
  expect(consumer.data.slice(100)).toEqual(Array.from({ length: 60 }, (_, index) => `data new ${index + 1}`))
  expect(consumer.tellings('gap')).toMatchObject([{ reason: 'cursor-ignored' }])
  expect(consumer.tellings('duplicate')).toMatchObject([{ count: 50 }])
})

test('blocks without data that are replayed do not move the cursor back either', async () => {
  const log = `${block(1)}id: 2\n\n${block(3)}`
  const world = new World([
    () => broken(log),
    () => broken(log),
    () => broken(`id: 2\n\n${block(3)}`),
    () => open(),
  ])
  const consumer = world.stream().run()
  await world.pass(60_000)
  expect(world.lastEventIds).toEqual([null, '3', '3', '3'])
  expect(consumer.stream.lastEventId).toBe('3')
})
