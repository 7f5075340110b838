import { expect, test } from 'vitest'
import { fuzz, noCoverage } from './fuzz.ts'

test('however odd a stream is and however it is cut, the reader makes of it what the standard says', async () => {
  const coverage = noCoverage()
  expect(await fuzz({ runs: 5_000, seed: 9_2_6, coverage })).toBeUndefined()
  for (const [what, times] of Object.entries(coverage)) expect(times, what).toBeGreaterThan(50)
})
