import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Expected, type ExpectedDial, type Told, textOf } from './cases/case.ts'
import type { RecordedDial } from './server.ts'

/** What a client made of a case. Every driver fills one, and {@link expectCase} judges it. */
export interface Observed {
  events: { type: string; data: string; lastEventId: string }[]
  /** `undefined`: this client tells none. */
  comments: string[] | undefined
  told: Told[]
  state: Expected['state']
  readyStates: number[] | undefined
}

/** Whether everything has come that the case expects to come; what must not come is seen a little later. */
export function isComplete(expected: Expected, observed: Observed, dials: readonly RecordedDial[]): boolean {
  return (
    observed.events.length >= expected.events.length &&
    (observed.comments === undefined || observed.comments.length >= (expected.comments?.length ?? 0)) &&
    observed.told.length >= (expected.told?.length ?? 0) &&
    observed.state === expected.state &&
    dials.length >= expected.dials.length
  )
}

/** A case's `closeAfterMs`: counted from when all was told that is to be told before, however busy the machine is. */
export async function closeLater(
  ms: number,
  expected: Expected,
  observed: Observed,
  close: () => unknown,
): Promise<void> {
  const before = expected.told?.length ?? 0
  while (observed.told.length < before && observed.state === 'open') await sleep(5)
  await sleep(ms)
  close()
}

export function expectCase(expected: Expected, observed: Observed, dials: readonly RecordedDial[]): void {
  const events = expected.events.map(one => ({ ...one, data: textOf(one.data) }))
  expect(observed.events.map(shortened)).toEqual(events.map(shortened))
  expect(observed.events).toEqual(events)
  if (expected.comments !== undefined && observed.comments !== undefined) {
    expect(observed.comments).toEqual(expected.comments)
  }
  expect(dials.map((dial, index) => shown(dial, expected.dials[index]))).toEqual(
    expected.dials.map(({ method = 'GET', lastEventId = null, headers = {}, body = '' }) => ({
      method,
      lastEventId,
      headers,
      body,
    })),
  )
  for (const [index, { afterMs }] of expected.dials.entries()) {
    if (afterMs === undefined) continue
    const waitedMs = (dials[index]?.at ?? 0) - (dials[index - 1]?.at ?? 0)
    expect(waitedMs).toBeGreaterThanOrEqual(afterMs.least)
    expect(waitedMs).toBeLessThanOrEqual(afterMs.most)
  }
  if (expected.told !== undefined) expect(observed.told).toEqual(expected.told)
  expect(observed.state).toBe(expected.state)
  if (expected.readyStates !== undefined) expect(observed.readyStates).toEqual(expected.readyStates)
}

/** Megabytes of letters do not help anybody who reads a failure. */
function shortened<One extends { data: string }>(one: One): One {
  const { data } = one
  return data.length < 1_000 ? one : { ...one, data: `${data.slice(0, 40)}… (${data.length} characters)` }
}

function shown(dial: RecordedDial, expected: ExpectedDial | undefined) {
  const value = (name: string) => {
    const values = dial.headers.filter(header => header[0].toLowerCase() === name).map(header => header[1])
    return values.length > 1 ? values : (values[0] ?? null)
  }
  return {
    method: dial.method,
    lastEventId: value('last-event-id'),
    headers: Object.fromEntries(Object.keys(expected?.headers ?? {}).map(name => [name, value(name)])),
    body: dial.body,
  }
}
