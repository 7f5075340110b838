import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { REFUSED, SPELLINGS } from '../../src/adapters/eventsource-spellings.ts'
import { read, sections } from '../docs/markdown.ts'
import { membersOf } from '../docs/typecheck.ts'
import { differences } from '../spec/cases/differences.ts'

const PAGE = 'docs/eventsource.md'
const textOf = (title: string) => sections(PAGE).find(section => section.title === title)?.text ?? ''
/** Rows of the tables of a section, without their heads, cell by cell. */
const rowsOf = (title: string) =>
  read(PAGE)
    .split(`## ${title}\n`)[1]
    ?.split('\n## ')[0]
    ?.split('\n')
    .filter(line => /^\| /.test(line) && !/^\| -/.test(line))
    .slice(1)
    .map(line => line.split('|').map(cell => cell.trim()))
    .map(cells => cells.slice(1, -1)) ?? []

describe(PAGE, () => {
  test('has a row for each deliberate difference that the cases know, with its reason, and no other', () => {
    const reasons = rowsOf('Where it differs from the standard').map(([, , why]) => why)
    expect(reasons).toEqual([...new Set(differences.map(({ why }) => why))])
  })

  test('has a row for each option beyond those of the core, and no other', () => {
    const options = [...membersOf('adapters/eventsource-init.ts', 'EventSourceInit').keys()]
    const documented = rowsOf('Options').flatMap(([names = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    )
    expect(documented.sort()).toEqual(options.sort())
    expect(options).toEqual(expect.arrayContaining(Object.keys(SPELLINGS)))
  })

  test('names each option that is refused', () => {
    const text = textOf('Options')
    const refused = Object.keys(REFUSED)
    expect(refused.length).toBeGreaterThan(5)
    expect(refused.filter(name => !text.includes(`\`${name}\``))).toEqual([])
  })

  test('names the versions that its facts were seen on', () => {
    const { packages } = JSON.parse(
      readFileSync(new URL('../interop/eventsource/package-lock.json', import.meta.url), 'utf8'),
    ) as { packages: Record<string, { version?: string }> }
    const wrong = Object.entries(packages).flatMap(([path, { version = '' }]) => {
      const name = path.replace('node_modules/', '')
      const text = textOf(`From \`${name}\``).trim()
      const [major, minor] = version.split('.')
      // After the block of code, which sections() leaves out.
      return text === '' || text.includes(`${major}.${minor}`) ? [] : [`${name} ${version}`]
    })
    expect(wrong).toEqual([])
    expect(sections(PAGE).filter(({ title }) => title.startsWith('From '))).toHaveLength(6)
  })
})
