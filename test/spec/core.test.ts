import { afterAll, describe, test, vi } from 'vitest'
import { type Case, titleOf } from './cases/case.ts'
import { differences } from './cases/differences.ts'
import { cases } from './cases/index.ts'
import { runCase } from './core.ts'
import { SpecServer } from './server.ts'

// Most of their time the cases wait.
vi.setConfig({ maxConcurrency: 32 })

const server = await SpecServer.start(cases)
afterAll(() => server[Symbol.asyncDispose]())

const different = new Set(differences.map(({ id }) => id))
const asStandard = cases.filter(({ id, only }) => only === undefined && !different.has(id))
/** Alone, because the megabytes keep this process from everything else. */
const large = asStandard.filter(({ expected }) =>
  expected.events.some(({ data }) => typeof data === 'object'),
)

describe.concurrent('the core does as the rules say:', () => {
  const small = asStandard.filter(one => !large.includes(one))
  test.each(small.map(one => [titleOf(one), one] as const))('%s', (_title, one) =>
    runCase(server, one, one.expected, 'case'),
  )
})

describe('the core does as the rules say, with megabytes:', () => {
  test.each(large.map(one => [titleOf(one), one] as const))('%s', (_title, one) =>
    runCase(server, one, one.expected, 'case'),
  )
})

describe.concurrent('the core differs on purpose:', () => {
  test.each(differences.map(difference => [titleOf(caseOf(difference.id)), difference] as const))(
    '%s',
    (_title, { id, expected }) => {
      const one = caseOf(id)
      return runCase(server, one, { ...one.expected, ...expected }, 'case')
    },
  )
})

function caseOf(id: string): Case {
  const found = cases.find(one => one.id === id)
  if (found === undefined) throw new Error(`no case ${id}`)
  return found
}
