import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { SseError } from '../../src/errors.ts'
import type { CursorStore } from '../../src/layers/resume.ts'
import { type FileStoreOptions, fileStore } from '../../src/stores/file.ts'

export const linux = process.platform === 'linux'
export const windows = process.platform === 'win32'
export const DEAD = '0123456789abcdef'

let bundles: string
/** Scripts for child processes, and the directory and the cursor file of the running test. */
export let saver: string
export let taker: string
export let loader: string
export let directory: string
export let path: string
export let started: ChildProcessWithoutNullStreams[] = []
let opened: CursorStore[] = []

beforeAll(async () => {
  bundles = await mkdtemp(join(await realpath(tmpdir()), 'file-store-code-'))
  await build({
    entryPoints: [fileURLToPath(new URL('../../src/stores/file.ts', import.meta.url))],
    outfile: join(bundles, 'file.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
  })
  const script = async (name: string, code: string) => {
    const file = join(bundles, name)
    await writeFile(file, `import { fileStore } from './file.mjs'\nconst path = process.argv[2]\n${code}`)
    return file
  }
  saver = await script(
    'saver.mjs',
    `const store = fileStore(path)
let id = Number(await store.load() ?? 0)
process.stdout.write('loaded ' + id + '\\n')
for (;;) {
  await store.save(String(++id))
  process.stdout.write('saved ' + id + '\\n')
}`,
  )
  taker = await script(
    'taker.mjs',
    `import { createInterface } from 'node:readline'
const stores = [fileStore(path), fileStore(path)]
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'go') {
    const results = await Promise.allSettled(stores.map(store => store.load()))
    console.log(results.map(r => r.status === 'fulfilled' ? 'won' : /is in use by/.test(r.reason.message) ? 'lost' : r.reason.stack).join())
  } else if (line === 'close') {
    await Promise.all(stores.map(store => store.close()))
    console.log('closed')
  } else process.exit(0)
}`,
  )
  loader = await script(
    'loader.mjs',
    `await fileStore(path).load().then(id => console.log('loaded', id), e => console.log(e.code, e.message))
process.exit(0)`,
  )
  await chmod(bundles, 0o755)
})

afterAll(() => rm(bundles, { recursive: true, force: true }))

beforeEach(async () => {
  directory = await mkdtemp(join(await realpath(tmpdir()), 'file-store-'))
  path = join(directory, 'cursor')
})

afterEach(async () => {
  await Promise.all(started.map(kill))
  started = []
  await Promise.all(opened.map(store => store.close?.()))
  opened = []
  await chmod(directory, 0o755)
  await rm(directory, { recursive: true, force: true })
})

export function run(
  script: string,
  file = path,
): { child: ChildProcessWithoutNullStreams; lines: Interface } {
  const child = spawn(process.execPath, [script, file])
  child.stdin.on('error', () => undefined)
  child.stderr.pipe(process.stderr)
  started.push(child)
  return { child, lines: createInterface({ input: child.stdout }) }
}

export async function kill(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}

export async function line(lines: Interface): Promise<string> {
  return String((await once(lines, 'line'))[0])
}

export async function failureOf(work: unknown): Promise<SseError> {
  const error = await Promise.resolve(work).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(SseError)
  expect(error).toMatchObject({ code: 'ERR_SSE_STORE' })
  expect((error as SseError).message).toContain(directory)
  return error as SseError
}

/** Opens a store that is closed after the test. */
export async function load(file = path, options: FileStoreOptions = {}): Promise<string | undefined> {
  const store = fileStore(file, options)
  opened.push(store)
  return store.load()
}

/** Writes a cursor and lets go of the file. */
export async function leave(id: string): Promise<void> {
  const store = fileStore(path)
  await store.load()
  await store.save(id)
  await store.close?.()
}

/** The lock as this very process would write it, then changed. */
export async function plantLock(changes: Record<string, unknown> = {}, file = `${path}.lock`): Promise<void> {
  const probe = fileStore(join(bundles, 'probe'))
  await probe.load()
  const mine: Record<string, unknown> = JSON.parse(await readFile(join(bundles, 'probe.lock'), 'utf8'))
  await probe.close?.()
  await writeFile(file, JSON.stringify({ ...mine, token: DEAD, ...changes }))
}

/** The pid of a process that has ended; nothing else has it so soon. */
export async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['--version'])
  await once(child, 'close')
  return child.pid ?? 0
}
