import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'vite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { builtTesting } from '../faults/support.ts'

// What logs, alerts and `constructor.name` show. Bundlers rename classes: ours in the build, an application's afterwards.
const dist = dirname(builtTesting())
const ENTRIES = ['index', 'eventsource']
type Built = typeof import('resilient-sse') & typeof import('resilient-sse/eventsource')
const require = createRequire(import.meta.url)

/** Both entries as an application's own bundler ships them. */
async function minified(): Promise<string> {
  const outDir = mkdtempSync(join(tmpdir(), 'resilient-sse-names-'))
  onTestFinished(() => rmSync(outDir, { recursive: true }))
  await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      outDir,
      minify: true,
      rolldownOptions: {
        input: ENTRIES.map(entry => join(dist, 'browser', `${entry}.js`)),
        preserveEntrySignatures: 'strict',
        output: { entryFileNames: '[name].js' },
      },
    },
  })
  return outDir
}

describe.each([
  ['ESM', async () => importBoth(dist)],
  ['CommonJS', async () => merge(ENTRIES.map(entry => require(join(dist, `${entry}.cjs`))))],
  ['a minified bundle', async () => importBoth(await minified())],
] as const)('in %s', (_, load) => {
  test('every error is called by the name of its class', async () => {
    const built = await load()
    const http = { status: 404, url: 'https://api.example.com/', headers: new Headers() }
    const open = { failures: 6, retryAt: 0, lastEventId: undefined, cause: undefined }
    const gap = { reason: 'missing', after: '1', before: '3' } as const
    const errors: Error[] = [
      new built.SseError('ERR_SSE_OPTION', 'text'),
      new built.SseHttpError('ERR_SSE_HTTP', 'text', http),
      new built.SseHeartbeatError('byte', 300),
      new built.SseCircuitOpenError(open),
      new built.SseGapError(gap),
    ]
    const names = ['SseError', 'SseHttpError', 'SseHeartbeatError', 'SseCircuitOpenError', 'SseGapError']
    expect(errors.map(error => error.name)).toEqual(names)
    expect(errors.map(error => String(error.stack).split(':')[0])).toEqual(names)
  })

  test('EventSource is called EventSource', async () => {
    const { EventSource } = await load()
    expect(EventSource.name).toBe('EventSource')
  })
})

async function importBoth(folder: string): Promise<Built> {
  return merge(
    await Promise.all(ENTRIES.map(entry => import(pathToFileURL(join(folder, `${entry}.js`)).href))),
  )
}

function merge(entries: object[]): Built {
  return Object.assign({}, ...entries)
}
