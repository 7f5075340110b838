// The table in docs/mcp.md.
import { readFileSync, writeFileSync } from 'node:fs'

const PAGE = new URL('../../../docs/mcp.md', import.meta.url)
const HEAD = ['server', 'stream', 'closed', 'gateway', 'legs', 'sent', 'lost', 'doubled', 'outcome']
/** The table that begins with these columns, up to the first line that is none of it. */
const TABLE = /^\| server +\| stream .*\n(?:\|.*\n)+/m

export type Row = string[]

/** The rows of the page. */
export function rowsOnPage(): Row[] {
  const [table = ''] = TABLE.exec(readFileSync(PAGE, 'utf8')) ?? []
  const [, , ...rows] = table.trimEnd().split('\n')
  return rows.map(row =>
    row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim()),
  )
}

export function writePage(rows: Row[]): void {
  const page = readFileSync(PAGE, 'utf8')
  if (!TABLE.test(page)) throw new Error('docs/mcp.md has no table of servers to be written')
  const widths = HEAD.map((title, column) =>
    Math.max(...[title, ...rows.map(row => row[column] ?? '')].map(({ length }) => length)),
  )
  const line = (cells: string[], filler = ' ') =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width, filler)).join(' | ')} |\n`
  const table = [HEAD, [], ...rows].map((cells, index) => line(cells, index === 1 ? '-' : ' ')).join('')
  writeFileSync(PAGE, page.replace(TABLE, table))
}
