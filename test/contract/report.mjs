// Reads what the harness prints: `[group/test]` when a test begins, `  FAILED: group/test` or `  SKIPPED: group/test`
// when it ends so, nothing when it passed.
import { stripVTControlCharacters } from 'node:util'

/** Groups begin like tests do; a test is what has no other test below it. */
export function readReport(output) {
  const lines = stripVTControlCharacters(output).split(/\r?\n/)
  const begun = namesIn(lines, /^\[(.+)\]$/)
  const skipped = namesIn(lines, /^ {2}SKIPPED: (.+?)(?: \(.*\))?$/)
  const failed = namesIn(lines, /^ {2}FAILED: (.+)$/)
  const groups = new Set(begun.flatMap(parents))
  const executed = begun.filter(name => !groups.has(name) && !skipped.includes(name))
  return { executed, skipped, failed, passed: executed.filter(name => !failed.includes(name)) }
}

function namesIn(lines, pattern) {
  return [...new Set(lines.flatMap(line => pattern.exec(line)?.[1] ?? []))]
}

function parents(name) {
  const parts = name.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** What is wrong with a run that was to execute and pass `expected` tests: a line each, none when all is well. */
export function complaints({ executed, skipped, failed, passed }, expected) {
  const said = []
  if (executed.length !== expected) said.push(`${executed.length} tests were executed, not ${expected}`)
  if (passed.length !== expected) said.push(`${passed.length} tests passed, not ${expected}`)
  return [...said, ...failed.map(name => `failed: ${name}`), ...skipped.map(name => `skipped: ${name}`)]
}
