import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, read } from './markdown.ts'

test('docs/fetch.md names the clients that are tested, with the versions that are installed for it', () => {
  const folder = join(ROOT, 'test/interop/clients')
  const json = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const { packages } = json('package-lock.json')
  // The AI SDK itself is what its provider is asked through.
  const names = Object.keys(json('package.json').dependencies).filter(name => name !== 'ai')
  const rows = [...read('docs/fetch.md').matchAll(/^\| `([^`]+)` +\| ([\d.]+) /gm)]
  const versions = names.map(name => [name, packages[`node_modules/${name}`].version])
  expect(rows.map(([, name, version]) => [name, version]).sort()).toEqual(versions.sort())
})

test('docs/fetch.md names each option that is refused', async () => {
  const source = readFileSync(join(ROOT, 'src/adapters/fetch/options.ts'), 'utf8')
  const names = [...source.matchAll(/^ {2}(\w+): '/gm)].map(([, name]) => name as string)
  const text = read('docs/fetch.md')
  expect(names.length).toBeGreaterThan(10)
  expect(names.filter(name => !new RegExp(`\`(resume\\.)?${name}\``).test(text))).toEqual([])
})
