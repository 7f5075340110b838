import { expect, it } from 'vitest'
import { kills, reportOf } from './kills.ts'

// npm run test:cursor: more of the same, and the counts printed.
const times = Number(process.env.CURSOR_RUNS ?? 10)
const seed = Number(process.env.CURSOR_SEED ?? 1)

it(`after Ctrl-C, kill and kill -9 (${times} runs) the next run repeats at most the event in hand and loses none`, async () => {
  const tolls = await kills(times, seed)
  if (process.env.CURSOR_RUNS !== undefined) console.log(`seed ${seed}\n${reportOf(tolls)}`)
  let runs = 0
  for (const [signal, toll] of tolls) {
    runs += toll.runs
    expect(toll, signal).toMatchObject({ lost: 0 })
    expect(toll.mostRepeated, signal).toBeLessThanOrEqual(1)
    expect(toll.events, signal).toBeGreaterThan(0)
  }
  expect(runs).toBe(times)
}, 120_000)
