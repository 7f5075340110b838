import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { Breaker, type ResilientSseOptions, SseError } from 'resilient-sse'
import { describe, expect, test } from 'vitest'
import { PROBE_DEFAULTS } from '../../src/layers/heartbeat.ts'
import { resolveOptions } from '../../src/options.ts'
import { FAULTS } from '../../src/testing/chaos-faults.ts'
import { codeBlocks, links, PAGES, ROOT, read, type Section, sections } from './markdown.ts'
import { membersOf, typecheck } from './typecheck.ts'

const LAYERS = ['tcp', 'heartbeat', 'resume', 'backoff', 'breaker', 'dedupe'] as const
type Layer = (typeof LAYERS)[number]

const source = (file: string) => readFileSync(join(ROOT, 'src', file), 'utf8')
const inBackticks = (name: string) => `\`${name}\``
const titled = (page: string, title: string) => sections(page).find(section => section.title === title)

test('the code blocks of every page are type-correct as they stand', () => {
  const blocks = PAGES.flatMap(codeBlocks).filter(({ language }) => ['ts', 'js'].includes(language))
  expect(blocks.length).toBeGreaterThan(15)
  expect(typecheck(blocks)).toEqual([])
})

test('a code block with a mistake would be found, with its page and line', () => {
  const code =
    "import { ResilientSse } from 'resilient-sse'\nnew ResilientSse(url, { heartbeat: { timeoutMs: '9' } })\n"
  const [problem] = typecheck([{ page: 'docs/x.md', line: 7, language: 'ts', code }])
  expect(problem).toMatch(/^docs\/x\.md:8: /)
})

test.each(PAGES)('each relative link of %s leads to a file, and to a heading of it', page => {
  const broken = links(page).filter(target => {
    if (/^[a-z]+:/i.test(target)) return false
    const [path = '', anchor] = target.split('#', 2)
    const file = path === '' ? page : join(dirname(page), path)
    if (file.startsWith('..') || !existsSync(join(ROOT, file))) return true
    if (anchor === undefined) return false
    return (
      statSync(join(ROOT, file)).isDirectory() || !sections(file).some(section => section.anchor === anchor)
    )
  })
  expect(broken).toEqual([])
})

test('every page of docs is reached from the README', () => {
  const reached = new Set(['README.md'])
  for (const page of reached) {
    for (const target of links(page)) {
      const file = join(dirname(page), target.split('#', 1)[0] ?? '')
      if (PAGES.includes(file)) reached.add(file)
    }
  }
  expect(PAGES.filter(page => !reached.has(page))).toEqual([])
})

describe('docs/errors.md', () => {
  const union = source('errors.ts').split('export type SseErrorCode =')[1]?.split('\n\n')[0] ?? ''
  const codes = [...union.matchAll(/^ {2}\| '(ERR_SSE_\w+)'/gm)].map(([, code]) => code as string)

  test('has a section for each code, and no other', () => {
    expect(codes.length).toBeGreaterThan(15)
    const titles = sections('docs/errors.md').map(({ title }) => title)
    expect(titles.filter(title => title.includes('ERR_'))).toEqual(codes.map(inBackticks))
  })

  test.each(codes)(
    'says of %s what it means, when it comes, whether it is retryable and what to do',
    code => {
      const text = titled('docs/errors.md', inBackticks(code))?.text ?? ''
      for (const part of ['**Means**', '**When**', '**Retryable**', '**What to do**'])
        expect(text).toContain(part)
    },
  )

  test('names the properties of each class of errors', () => {
    const text = read('docs/errors.md')
    const properties = [...source('errors.ts').matchAll(/^ {2}(?:declare )?(?:readonly )?(\w+)\??: /gm)]
    const missing = properties
      .map(([, name]) => name as string)
      .filter(name => !text.includes(inBackticks(name)))
    expect(properties.length).toBeGreaterThan(10)
    expect(missing).toEqual([])
  })
})

describe('docs/lifecycle.md', () => {
  const bodies = membersOf('lifecycle.ts', 'LifecycleBodies')

  test('has a section for each type, with all of its fields and no other', () => {
    for (const [type, body] of bodies) {
      const text = titled('docs/lifecycle.md', inBackticks(type))?.text ?? ''
      const fields = [...body.matchAll(/(?:^\{|;|\n)\s*(\w+): /g)].map(([, name]) => name)
      const rows = [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
      expect(fields.length, type).toBeGreaterThan(0)
      expect(rows.sort(), type).toEqual(fields.sort())
    }
  })

  test('names each channel and each state', () => {
    const text = read('docs/lifecycle.md')
    const union = /export type StreamState = (.+)/.exec(source('lifecycle.ts'))?.[1] ?? ''
    const states = union.split(' | ').map(state => `| \`${state}\` |`)
    for (const name of [...bodies.keys()].map(type => `\`resilient-sse:${type}\``))
      expect(text).toContain(name)
    expect(states).toHaveLength(5)
    for (const row of states) expect(text).toContain(row)
  })
})

describe('options', () => {
  const resolved = resolveOptions('http://server.test/', undefined)
  const shown = (value: unknown) =>
    value === undefined
      ? 'none'
      : typeof value === 'number' && Number.isFinite(value)
        ? `\`${value.toLocaleString('en')}\``
        : `\`${typeof value === 'string' ? `'${value}'` : String(value)}\``

  /** Page, name, and the default that the code has. */
  const options: [page: string, name: string, byDefault: string][] = []
  for (const name of membersOf('options.ts', 'ResilientSseOptions').keys()) {
    const layer = LAYERS.find(one => one === name)
    const value = layer === undefined ? shown(resolved[name as keyof ResilientSseOptions]) : 'every option of'
    options.push(['docs/options.md', name, value])
  }
  for (const layer of LAYERS) {
    const group = layer === 'breaker' ? new Breaker().options : resolved[layer]
    const type = `${layer[0]?.toUpperCase()}${layer.slice(1)}Options`
    for (const name of membersOf(`layers/${layer}.ts`, type).keys())
      options.push([`docs/layers/${layer}.md`, name, shown((group as Record<string, unknown>)[name])])
  }
  for (const name of membersOf('layers/heartbeat.ts', 'ProbeOptions').keys()) {
    const value = (PROBE_DEFAULTS as Record<string, unknown>)[name]
    options.push(['docs/layers/heartbeat.md', `probe.${name}`, shown(value)])
  }

  /** The line under the heading: what it may be, and its default. */
  const summary = (section: Section | undefined) => section?.text.trim().split('\n', 1)[0] ?? ''

  test.each(options)('%s names %s with the default that the code has', (page, name, byDefault) => {
    const [, documented = ''] = summary(titled(page, inBackticks(name))).split(' · default: ')
    expect(documented.startsWith('every option of') ? 'every option of' : documented).toBe(byDefault)
  })

  test.each(PAGES.filter(page => page.startsWith('docs/layers/') || page === 'docs/options.md'))(
    '%s has no option that the code does not have',
    page => {
      const known = options.filter(([on]) => on === page).map(([, name]) => inBackticks(name))
      const documented = sections(page).filter(
        ({ level, text }) => level === 3 && text.includes(' · default: '),
      )
      expect(documented.map(({ title }) => title).sort()).toEqual(known.sort())
    },
  )

  const ranges = options.flatMap(([page, name]) => {
    const range = /(\d[\d,]*) to (\d[\d,]*|Infinity)/.exec(summary(titled(page, inBackticks(name))))
    const group = /layers\/(\w+)\.md/.exec(page)?.[1]
    const number = (text = '') => Number(text.replaceAll(',', ''))
    return range === null
      ? []
      : [{ name: group ? `${group}.${name}` : name, min: number(range[1]), max: number(range[2]) }]
  })

  test.each(ranges)('$name takes $min to $max, as documented, and nothing beyond', ({ name, min, max }) => {
    const refusal = (value: number) => {
      const given = name
        .split('.')
        .reduceRight<unknown>(
          (inner, key) =>
            key === 'probe' ? { probe: { send() {}, ...(inner as object) } } : { [key]: inner },
          value,
        )
      try {
        resolveOptions('http://server.test/', given as ResilientSseOptions)
        return undefined
      } catch (error) {
        return error instanceof SseError ? error.code : error
      }
    }
    expect(refusal(min), 'the least').toBeUndefined()
    expect(refusal(max), 'the most').toBeUndefined()
    // 0 stands for off where it is not in the range.
    expect(refusal(min > 1 ? min - 1 : min - 0.5), 'less').toBe('ERR_SSE_OPTION')
    if (Number.isFinite(max)) expect(refusal(max + 1), 'more').toBe('ERR_SSE_OPTION')
  })

  test('most numbers have a range', () => {
    expect(ranges.length).toBeGreaterThan(15)
  })

  test('the README shows each top-level option, and the options of each layer that it names exist', () => {
    const table = read('README.md')
    for (const name of membersOf('options.ts', 'ResilientSseOptions').keys())
      expect(table).toContain(inBackticks(name))
    for (const [page, name, byDefault] of options) {
      if (page !== 'docs/options.md' || !byDefault.startsWith('`')) continue
      const row = table.split('\n').find(line => line.startsWith('|') && line.includes(inBackticks(name)))
      expect(row, name).toContain(byDefault)
    }
  })
})

describe('docs/layers', () => {
  const HEADINGS = [
    'The failure',
    'How the layer sees it',
    'Options',
    'What you observe',
    'What it does not do',
    'Sources',
  ]

  test.each(LAYERS satisfies readonly Layer[])('%s.md has the headings that all layers share', layer => {
    const titles = sections(`docs/layers/${layer}.md`).filter(({ level }) => level === 2)
    expect(titles.map(({ title }) => title)).toEqual(HEADINGS)
  })
})

test('docs/architecture.md names each module of src', () => {
  const named = links('docs/architecture.md')
  const modules = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter(
    entry => entry.isFile() || readdirSync(join(ROOT, 'src', entry.name)).length > 0,
  )
  // Twins for browsers go by one sentence: each stands beside its namesake.
  const names = modules.map(({ name }) => name).filter(name => !name.endsWith('.browser.ts'))
  expect(names.filter(name => !named.includes(`../src/${name}`))).toEqual([])
})

test('docs/testing-your-app.md names each word of the fault server', () => {
  const words = ['testing/words.ts', 'testing/words-http.ts'].flatMap(file =>
    [...source(file).matchAll(/^export (?:const|function) (\w+)/gm)].map(([, word]) => word as string),
  )
  const text = read('docs/testing-your-app.md')
  expect(words.length).toBeGreaterThan(30)
  expect(words.filter(word => !text.includes(inBackticks(word)) && !text.includes(`\`${word}(`))).toEqual([])
})

test('docs/testing-your-app.md has a row for each fault of the chaos relay, with its fields', () => {
  const rows = read('docs/testing-your-app.md')
    .split('\n')
    .flatMap(line => {
      const [, name, fields = ''] = /^\| `(\w+)` +\|.+\|(.*)\|$/.exec(line) ?? []
      return name === undefined
        ? []
        : [[name, [...fields.matchAll(/`(\w+)`|`(\w+): /g)].map(([, a, b]) => a ?? b)]]
    })
  const faults = Object.entries(FAULTS).map(([name, fields]) => [name, Object.keys(fields)])
  expect(rows).toEqual(faults)
})
