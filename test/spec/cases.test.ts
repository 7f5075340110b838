import { expect, test } from 'vitest'
import { differences } from './cases/differences.ts'
import { cases } from './cases/index.ts'

const ids = cases.map(({ id }) => id)

test('every case has an id of its own that a URL can hold', () => {
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.filter(id => !/^[a-z0-9-]+$/.test(id))).toEqual([])
})

test('cases are data: as JSON they are the same', () => {
  expect(JSON.parse(JSON.stringify(cases))).toEqual(cases)
})

test('the contract suite is whole', () => {
  expect(cases.filter(({ suite }) => suite === 'contract')).toHaveLength(113)
})

test('a case of the standard begins with its clause', () => {
  const standard = cases.filter(({ suite }) => suite === 'standard')
  expect(standard.filter(({ name }) => !/^9\.2\.[2-7] [\w -]+: /.test(name))).toEqual([])
})

test('every difference is that of a case, and is one', () => {
  for (const { id, expected } of differences) {
    const one = cases.find(other => other.id === id)
    expect(one, id).toBeDefined()
    expect({ ...one?.expected, ...expected }, id).not.toEqual(one?.expected)
  }
})
