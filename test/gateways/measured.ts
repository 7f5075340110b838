import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'

const PAGE = new URL('../../docs/gateways.md', import.meta.url)

/** What differs from run to run, such as a time or how often something was tried, stands behind this word. */
const ABOUT = /about [\d,.]+/g

/** A table of docs/gateways.md: the rows are compared with those on the page, or kept for run.mjs, which writes the page. */
export class MeasuredTable {
  readonly #name: string
  readonly #rows: string[][] = []

  constructor(name: string, ...head: string[]) {
    this.#name = name
    this.#rows.push(head)
  }

  add(...cells: string[]): void {
    this.#rows.push(cells)
  }

  /** To be called when every row is measured. */
  settle(): void {
    const [head = [], ...rows] = this.#rows
    const measured = table(head, rows.sort(byText))
    const folder = process.env.GATEWAYS_WRITE
    if (folder === undefined) {
      expect(stable(measured), 'npm run test:gateways -- --write').toEqual(stable(documented(this.#name)))
    } else {
      mkdirSync(folder, { recursive: true })
      writeFileSync(`${folder}/${this.#name}`, measured.join('\n'))
    }
  }
}

/** The lines of a table in Markdown, with columns that are straight in the source, too. */
function table(head: string[], rows: string[][]): string[] {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map(row => row[column]?.length ?? 0)))
  const line = (cells: string[], fill = ' ') =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`
  const rule = head.map(() => '')
  return [line(head), line(rule, '-'), ...rows.map(row => line(row))]
}

const byText = (one: string[], other: string[]) => (one.join(' | ') < other.join(' | ') ? -1 : 1)

const stable = (rows: string[]) =>
  rows.map(row => row.replace(/ +/g, ' ').replace(/-+/g, '-').replace(ABOUT, 'about'))

function documented(name: string): string[] {
  const [, text = ''] = readFileSync(PAGE, 'utf8').split(new RegExp(`<!-- /?measured: ${name} -->`))
  return text.trim().split('\n')
}
