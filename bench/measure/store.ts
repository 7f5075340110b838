import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Saved } from './cell.ts'

/** docs/benchmarks.json: the last results of each cell. */
export type Benchmarks = Record<string, Saved>

export function load(file: string): Benchmarks {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

/** Whole or not at all: a run may be interrupted at any moment. */
export function save(file: string, benchmarks: Benchmarks): void {
  const cells = Object.entries(benchmarks).map(
    ([name, saved]) => `"${name}": ${JSON.stringify(saved, rounded)}`,
  )
  writeFileSync(`${file}.new`, `{\n${cells.join(',\n')}\n}\n`)
  renameSync(`${file}.new`, file)
}

/** Four digits are more than any machine repeats, and keep the file readable. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
}
