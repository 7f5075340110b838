import { expect, it } from 'vitest'
import { complaints, readReport } from './report.mjs'

const PASSED = `Running test suite
[parsing]
[parsing/one line]
[parsing/two lines]
[linefeeds]
[linefeeds/LF separator]
[linefeeds/LF separator/one chunk]

All tests passed
`

it('tests are counted without the groups that hold them', () => {
  const report = readReport(PASSED)
  expect(report.executed).toEqual([
    'parsing/one line',
    'parsing/two lines',
    'linefeeds/LF separator/one chunk',
  ])
  expect(complaints(report, 3)).toEqual([])
})

it('another number of tests than expected is a complaint, although all of them passed', () => {
  expect(complaints(readReport(PASSED), 4)).toEqual(['3 tests were executed, not 4', '3 tests passed, not 4'])
  expect(complaints(readReport(''), 3)).toHaveLength(2)
})

it('a failure is named, in colour too', () => {
  const report = readReport(
    PASSED.replace('[linefeeds]', '\x1b[31m  FAILED: parsing/two lines\x1b[0m\n[linefeeds]'),
  )
  expect(complaints(report, 3)).toEqual(['2 tests passed, not 3', 'failed: parsing/two lines'])
})

it('a test or a group that was skipped was not executed', () => {
  const skipped = '[comments]\n  SKIPPED: comments (test service does not have capability "comments")\n'
  const report = readReport(PASSED + skipped)
  expect(report.executed).toHaveLength(3)
  expect(complaints(report, 4)).toContain('skipped: comments')
})

it('a group that failed outside its tests fails the run', () => {
  const report = readReport(PASSED.replace('[linefeeds]', '  FAILED: parsing\n[linefeeds]'))
  expect(complaints(report, 3)).toEqual(['failed: parsing'])
})
