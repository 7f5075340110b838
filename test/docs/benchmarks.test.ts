import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Benchmarks } from '../../bench/measure/store.ts'
import { CHART_DATA } from '../../bench/report/charts/data.ts'
import { stampOf } from '../../bench/report/charts/stamp.ts'
import { pageOf } from '../../bench/report/page.ts'
import { readmeFigures, withFigures } from '../../bench/report/readme.ts'
import { ROOT } from './markdown.ts'

// When one of these fails: npm run bench -- --report

const file = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const benchmarks: Benchmarks = JSON.parse(file('docs/benchmarks.json'))

test('docs/benchmarks.md says what docs/benchmarks.json has', () => {
  expect(file('docs/benchmarks.md')).toBe(pageOf(benchmarks))
})

test('the README has the figures of docs/benchmarks.json, and some', () => {
  expect(readmeFigures(benchmarks)).toMatch(/\d\.\d\d/)
  expect(withFigures(file('README.md'), benchmarks)).toBe(file('README.md'))
})

describe('docs/images', () => {
  test.each(Object.entries(CHART_DATA))('%s.svg was drawn from docs/benchmarks.json', (name, dataOf) => {
    const image = join(ROOT, `docs/images/${name}.svg`)
    expect(existsSync(image)).toBe(true)
    const data = dataOf(benchmarks)
    expect(data.length).toBeGreaterThan(0)
    expect(readFileSync(image, 'utf8')).toContain(`data-made-from="${stampOf(data)}"`)
  })
})
