import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type BuildOptions, build as esbuild } from 'esbuild'
import { build as vite } from 'vite'
import { beforeAll, describe, expect, test } from 'vitest'
import { installTarball, packTarball } from '../package/packed.mjs'
import { openBrowser } from './places.ts'

/** What `EventSource` with all layers is to weigh, minified and gzipped. */
const TARGET_BYTES = 8_192
/** What it weighs today, and a little: it must not grow unnoticed. */
const CEILING_BYTES = 22_000

/** An application that has the packed package installed. */
let app: string

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'resilient-sse-bundles-'))
  app = join(folder, 'app')
  installTarball(packTarball(folder).tarball, app)
  writeFileSync(join(app, 'stream.js'), STREAM)
  writeFileSync(join(app, 'eventsource.js'), "export { EventSource } from 'resilient-sse/eventsource'")
  return () => rmSync(folder, { recursive: true, force: true })
}, 120_000)

/** Reads one event and shows it. */
const STREAM = `
import { ResilientSse } from 'resilient-sse'
for await (const event of new ResilientSse(new URL('/events', location.href))) {
  document.title = event.data
  break
}`

async function withEsbuild(entry: string, options: BuildOptions = {}): Promise<string> {
  const { outputFiles } = await esbuild({
    entryPoints: [join(app, entry)],
    bundle: true,
    write: false,
    format: 'esm',
    ...options,
  })
  return outputFiles?.[0]?.text ?? ''
}

async function withVite(entry: string): Promise<string> {
  const outDir = join(app, 'vite')
  await vite({
    root: app,
    configFile: false,
    logLevel: 'error',
    build: { outDir, target: 'es2022', minify: false, rollupOptions: { input: join(app, entry) } },
  })
  const [file = ''] = readdirSync(join(outDir, 'assets'))
  return readFileSync(join(outDir, 'assets', file), 'utf8')
}

/** The file that the application gets, below `dist/`. */
function resolved(name: string, how: 'import' | 'require', ...flags: string[]): string {
  const resolve = how === 'import' ? 'import.meta.resolve' : 'require.resolve'
  const type = how === 'import' ? 'module' : 'commonjs'
  const script = `console.log(${resolve}('${name}'))`
  const args = [...flags, `--input-type=${type}`, '--eval', script]
  return execFileSync(process.execPath, args, { cwd: app, encoding: 'utf8' })
    .trim()
    .replace(/^.*\/dist\//, '')
}

describe.each([
  { bundler: 'esbuild', bundle: () => withEsbuild('stream.js') },
  { bundler: 'vite', bundle: () => withVite('stream.js') },
])('what $bundler makes for a browser', ({ bundle }) => {
  let text: string
  beforeAll(async () => {
    text = await bundle()
  })

  test('holds no import of Node and no undici', () => {
    expect(text).not.toMatch(/["']node:|\brequire\(|undici/)
    expect(text).toContain('the fetch of the platform makes its own connections')
  })

  test('runs in a page', async () => {
    const server = createServer(({ url }, response) => {
      if (url === '/events')
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: hello\n\n')
      else if (url === '/bundle.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(text)
      else
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end('<script type="module" src="/bundle.js"></script>')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const context = await openBrowser()
    try {
      const page = await context.newPage()
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
      await page.waitForFunction(() => document.title === 'hello')
    } finally {
      await context.close()
      server.closeAllConnections()
      server.close()
    }
  })
})

describe.each(['index', 'eventsource'])('the entry %s', entry => {
  const name = entry === 'index' ? 'resilient-sse' : `resilient-sse/${entry}`

  test('is the one for Node on Node', () => {
    expect(resolved(name, 'import')).toBe(`${entry}.js`)
    expect(resolved(name, 'require')).toBe(`${entry}.cjs`)
  })

  test('is the one for browsers, in either module system, where the condition browser is set, as test runners do', () => {
    expect(resolved(name, 'import', '--conditions=browser')).toBe(`browser/${entry}.js`)
    expect(resolved(name, 'require', '--conditions=browser')).toBe(`browser/${entry}.cjs`)
    execFileSync(
      process.execPath,
      ['--conditions=browser', '--eval', `if (!require('${name}')) throw new Error('nothing')`],
      { cwd: app },
    )
  })
})

test(`EventSource with all layers, minified and gzipped, is not more than ${CEILING_BYTES} bytes`, async () => {
  const text = await withEsbuild('eventsource.js', { minify: true, target: 'es2022', legalComments: 'none' })
  const bytes = gzipSync(text, { level: 9 }).length
  const times = (bytes / TARGET_BYTES).toFixed(1)
  console.log(
    `EventSource: ${bytes} bytes gzipped, ${text.length} minified; the target is ${TARGET_BYTES}: ${times} times`,
  )
  expect(text).not.toMatch(/["']node:|undici/)
  expect(bytes).toBeLessThanOrEqual(CEILING_BYTES)
})
