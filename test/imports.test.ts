import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map(file => file.replaceAll('\\', '/'))
  .filter(file => file.endsWith('.ts'))
  .sort()

interface Edge {
  from: string
  /** A file of src, or a package. */
  to: string
  /** Gone once the types are. */
  typeOnly: boolean
}

const text = (file: string) => readFileSync(join(SRC, file), 'utf8')

/** The import and re-export lines of a file, however many lines each takes. */
function edgesOf(file: string): Edge[] {
  const statement = /^(?:import|export)\s+(?:(type\s)?(?:[^'";]*?)\sfrom\s+)?'([^']+)'/gm
  const dynamic = /\bimport\('([^']+)'\)/g
  const code = text(file)
  return [
    ...[...code.matchAll(statement)].map(([, type, to]) => ({
      to: to as string,
      typeOnly: type !== undefined,
    })),
    ...[...code.matchAll(dynamic)].map(([, to]) => ({ to: to as string, typeOnly: false })),
  ].map(({ to, typeOnly }) => ({ from: file, to: to.startsWith('.') ? resolved(file, to) : to, typeOnly }))
}

function resolved(from: string, to: string): string {
  const path = relative(SRC, join(SRC, dirname(from), to)).replaceAll('\\', '/')
  return path.replace(/\.js$/, '.ts')
}

const EDGES = FILES.flatMap(edgesOf)
const within = (folder: string) => EDGES.filter(({ from }) => from.startsWith(`${folder}/`))
const shown = (edges: Edge[]) => edges.map(({ from, to }) => `${from} → ${to}`)
const isPackage = ({ to }: Edge) => !FILES.includes(to)

/** The edges out of `edges` that are neither to a package nor allowed. */
function forbidden(edges: Edge[], allowed: (to: string, edge: Edge) => boolean): string[] {
  return shown(edges.filter(edge => !isPackage(edge) && !allowed(edge.to, edge)))
}

test('the reader of import lines sees them all', () => {
  expect(shown(edgesOf('client.ts'))).toContain('client.ts → layers/heartbeat.ts')
  expect(edgesOf('lifecycle.ts')).toContainEqual({ from: 'lifecycle.ts', to: 'errors.ts', typeOnly: true })
  expect(shown(edgesOf('index.ts'))).toContain('index.ts → index.browser.ts')
  expect(EDGES.length).toBeGreaterThan(100)
})

test('each relative import is a file of src', () => {
  const missing = EDGES.filter(edge => edge.to.endsWith('.ts') && isPackage(edge))
  expect(shown(missing)).toEqual([])
})

describe('imports go one way', () => {
  test('layers import errors only, and never each other', () => {
    expect(forbidden(within('layers'), to => to === 'errors.ts')).toEqual([])
  })

  test('errors and lifecycle are leaves; lifecycle knows the types of errors', () => {
    const leaves = EDGES.filter(({ from }) => ['errors.ts', 'lifecycle.ts'].includes(from))
    expect(
      forbidden(
        leaves,
        (to, { from, typeOnly }) => from === 'lifecycle.ts' && to === 'errors.ts' && typeOnly,
      ),
    ).toEqual([])
    expect(shown(leaves.filter(isPackage))).toEqual([])
  })

  /** A part of the root entry itself, made of what that is made of. */
  const isFetch = ({ from }: Edge) => /^adapters\/fetch(\.ts|\/)/.test(from)

  test('adapters import index only, beside themselves; fetch is a part of index and imports what that does', () => {
    const others = within('adapters').filter(edge => !isFetch(edge))
    expect(forbidden(others, to => to === 'index.ts' || to.startsWith('adapters/'))).toEqual([])
    expect(
      forbidden(within('adapters').filter(isFetch), to => !/^(index|(cli|testing|stores)\/)/.test(to)),
    ).toEqual([])
  })

  test('cli imports index, testing and stores only, beside itself', () => {
    const allowed = /^(index\.ts$|testing\/index\.ts$|stores\/|cli\/)/
    expect(forbidden(within('cli'), to => allowed.test(to))).toEqual([])
  })

  test('testing stands alone', () => {
    expect(forbidden(within('testing'), to => to.startsWith('testing/'))).toEqual([])
  })

  test('stores import errors and the types of resume only, beside themselves', () => {
    const allowed = (to: string, { typeOnly }: Edge) =>
      to === 'errors.ts' || to.startsWith('stores/') || (to === 'layers/resume.ts' && typeOnly)
    expect(forbidden(within('stores'), allowed)).toEqual([])
  })

  test('nobody imports cli, adapters or testing from outside', () => {
    const back = EDGES.filter(({ from, to }) => {
      const folder = /^(cli|adapters|testing)\//.exec(to)?.[1]
      return (
        folder !== undefined &&
        !from.startsWith(`${folder}/`) &&
        !(from.startsWith('cli/') && folder === 'testing')
      )
    })
    expect(shown(back).filter(edge => !edge.startsWith('index.browser.ts → adapters/fetch.ts'))).toEqual([])
  })

  test('nobody imports index, except those above it', () => {
    const back = EDGES.filter(({ from, to }) => to === 'index.ts' && !/^(cli|adapters)\//.test(from))
    expect(shown(back)).toEqual([])
  })

  test('no file runs in a circle: with types set aside, each import leads away', () => {
    const next = (file: string) =>
      EDGES.filter(edge => edge.from === file && !edge.typeOnly && !isPackage(edge))
    const circles: string[] = []
    const visit = (file: string, path: string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
      else for (const { to } of next(file)) visit(to, [...path, file])
    }
    for (const file of FILES) visit(file, [])
    expect(circles).toEqual([])
  })
})

describe('browsers', () => {
  const twin = (file: string) => file.replace(/\.ts$/, '.browser.ts')
  const forBrowsers = (file: string) => (FILES.includes(twin(file)) ? twin(file) : file)

  /** All that a bundle for browsers holds: as the build does, each file gives way to its twin. */
  function bundle(entries: string[]): string[] {
    const held = new Set<string>()
    const hold = (file: string): void => {
      if (held.has(file)) return
      held.add(file)
      for (const edge of EDGES.filter(({ from, typeOnly }) => from === file && !typeOnly))
        hold(isPackage(edge) ? edge.to : forBrowsers(edge.to))
    }
    for (const entry of entries) hold(forBrowsers(entry))
    return [...held]
  }

  test('their build holds no node: import and no package', () => {
    const held = bundle(['index.ts', 'adapters/eventsource.ts'])
    expect(held).toContain('client.ts')
    expect(held.filter(file => !FILES.includes(file))).toEqual([])
  })

  test('each file for browsers stands beside one for Node and exports nothing that it does not', () => {
    const exported = (file: string) =>
      [...text(file).matchAll(/^export (?:async )?(?:function|const|class) (\w+)/gm)].map(([, name]) => name)
    for (const file of FILES.filter(name => name.endsWith('.browser.ts'))) {
      const node = file.replace('.browser.ts', '.ts')
      expect(FILES).toContain(node)
      expect(exported(node)).toEqual(expect.arrayContaining(exported(file)))
    }
  })
})

describe('packages', () => {
  test('undici is imported where connections are made and re-exported, p-retry once', () => {
    const users = (name: string) => [
      ...new Set(EDGES.filter(({ to, typeOnly }) => to === name && !typeOnly).map(({ from }) => from)),
    ]
    expect(users('p-retry')).toEqual(['retry.ts'])
    expect(users('undici').filter(file => !file.startsWith('cli/'))).toEqual([
      'index.ts',
      'layers/tcp.ts',
      'plain-fetch.ts',
      'transport.ts',
    ])
  })

  test('no others are imported, beside Node’s own', () => {
    const others = EDGES.filter(isPackage).filter(
      ({ to }) => !to.startsWith('node:') && !['undici', 'p-retry'].includes(to),
    )
    expect(shown(others)).toEqual([])
  })
})

describe('size', () => {
  const lines = (file: string) => text(file).trimEnd().split('\n').length
  const over = (files: string[], limit: number) =>
    files.filter(file => lines(file) > limit).map(file => `${file}: ${lines(file)}`)

  test('no file has more than 300 lines', () => {
    expect(over(FILES, 300)).toEqual([])
  })

  test('no layer has more than 150', () => {
    expect(
      over(
        FILES.filter(file => file.startsWith('layers/')),
        150,
      ),
    ).toEqual([])
  })
})
