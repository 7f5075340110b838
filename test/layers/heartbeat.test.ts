import { expect, test } from 'vitest'
import { HEARTBEAT_DEFAULTS, patienceOf, type ResolvedHeartbeat, Rhythm } from '../../src/layers/heartbeat.ts'

/** A rhythm that has heard comments at these moments, in seconds. */
function heard(...seconds: number[]): Rhythm {
  const rhythm = new Rhythm()
  for (const second of seconds) rhythm.comment(1_000 * second)
  return rhythm
}

test('patience is 120 s as long as nothing, or one comment, is known', () => {
  expect(heard().timeoutMs).toBe(120_000)
  expect(heard(5).timeoutMs).toBe(120_000)
})

test('two comments 15 s apart bring it down to 30 s', () => {
  expect(heard(0, 15).timeoutMs).toBe(30_000)
})

test('it is twice the longest gap between comments', () => {
  expect(heard(0, 20).timeoutMs).toBe(40_000)
  expect(heard(0, 20, 65, 70).timeoutMs).toBe(90_000)
})

test('it never falls below 30 s, however fast the comments come', () => {
  expect(heard(0, 1, 2, 3).timeoutMs).toBe(30_000)
})

test('a rhythm slower than the first patience is followed once it is known', () => {
  expect(heard(0, 90).timeoutMs).toBe(180_000)
})

test('comments of the same instant say nothing about a rhythm', () => {
  expect(heard(3, 3, 3).timeoutMs).toBe(120_000)
})

test('the gap across an interruption, a new connection or a consumer at work, is not measured', () => {
  const rhythm = heard(0, 15)
  rhythm.interrupt()
  rhythm.comment(600_000)
  expect(rhythm.timeoutMs).toBe(30_000)
  rhythm.comment(625_000)
  expect(rhythm.timeoutMs).toBe(50_000)
})

test('what was learned outlives an interruption', () => {
  const rhythm = heard(0, 40)
  rhythm.interrupt()
  expect([rhythm.timeoutMs, rhythm.longestGapMs]).toEqual([80_000, 40_000])
})

test('a gap with events in it counts as 60 s at most: the server may comment only when idle', () => {
  const rhythm = heard(0, 15)
  rhythm.event()
  rhythm.comment(3_600_000)
  expect(rhythm.longestGapMs).toBe(60_000)
  expect(rhythm.timeoutMs).toBe(120_000)
})

test('a short gap with events in it counts in full', () => {
  const rhythm = heard(0)
  rhythm.event()
  rhythm.comment(25_000)
  expect(rhythm.longestGapMs).toBe(25_000)
})

test('the gap after a busy one is idle again', () => {
  const rhythm = heard(0)
  rhythm.event()
  rhythm.comment(10_000)
  rhythm.comment(110_000)
  expect(rhythm.longestGapMs).toBe(100_000)
})

test("patience is the number that was given, and what was learned only with 'auto'", () => {
  const rhythm = heard(0, 40)
  const patience = (timeoutMs: 'auto' | number) =>
    patienceOf({ ...HEARTBEAT_DEFAULTS, timeoutMs, probe: undefined }, rhythm)
  expect([patience('auto'), patience(7_000), patience(0)]).toEqual([80_000, 7_000, 0])
})

test('a function decides, knowing what would be decided without it and whether that was learned', () => {
  const asked: unknown[] = []
  const timeoutMs: ResolvedHeartbeat['timeoutMs'] = rhythm => {
    asked.push(rhythm)
    return rhythm.learned ? rhythm.autoMs : 0
  }
  const patience = (rhythm: Rhythm) =>
    patienceOf({ ...HEARTBEAT_DEFAULTS, timeoutMs, probe: undefined }, rhythm)
  expect([patience(heard()), patience(heard(0)), patience(heard(0, 20))]).toEqual([0, 0, 40_000])
  expect(asked).toEqual([
    { autoMs: 120_000, learned: false },
    { autoMs: 120_000, learned: false },
    { autoMs: 40_000, learned: true },
  ])
})
