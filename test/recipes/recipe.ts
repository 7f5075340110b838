import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { SseEvent, StandardSchema } from 'resilient-sse'
import { fileStore } from '../../src/stores/file.ts'
import { codeBlocks, ROOT, read } from '../docs/markdown.ts'

/** Thrown by a test's `handle`: the loop of a recipe has no other end. */
export const ENOUGH = new Error('Enough')

/** What the code blocks use without saying where it comes from (test/docs/ambient.d.ts). */
export interface Ambient {
  url: string
  handle: (...args: never[]) => unknown
  token?: () => Promise<string>
  snapshot?: () => Promise<{ state: unknown; lastEventId: string }>
  price?: StandardSchema<{ eur: number }>
  app?: unknown
}

/** The code of a page under a heading of the second level, block by block. */
export function codeUnder(page: string, title: string): string[] {
  const lines = read(page).split('\n')
  const from = lines.indexOf(`## ${title}`)
  if (from < 0) throw new Error(`${page} has no section ${title}`)
  const length = lines.slice(from + 1).findIndex(line => line.startsWith('## '))
  const to = length < 0 ? lines.length : from + 1 + length
  return codeBlocks(page)
    .filter(({ line, language }) => line > from && line <= to && ['ts', 'js'].includes(language))
    .map(({ code }) => code)
}

/** A folder for what a recipe writes. Inside the repository: there `resilient-sse` is this package. */
export class Kitchen {
  readonly path: string

  constructor() {
    mkdirSync(join(ROOT, '.tmp'), { recursive: true })
    this.path = mkdtempSync(join(ROOT, '.tmp/recipe-'))
  }

  write(name: string, code: string): string {
    const file = join(this.path, name)
    writeFileSync(file, code)
    return file
  }

  /** `undefined` while there is no such file. */
  read(name: string): string | undefined {
    const file = join(this.path, name)
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined
  }

  /**
   * Runs a block as it is printed; only the cursor files are put here. Resolves when it is through, or when `handle` has
   * thrown {@link ENOUGH}.
   */
  async run(code: string, ambient: Ambient): Promise<void> {
    const { handle } = ambient
    Object.assign(globalThis, ambient, { handle: async (...args: never[]) => handle(...args) })
    const file = this.write(
      `block-${Date.now()}.ts`,
      code.replaceAll(/(['`])(\S+\.cursor\1)/g, `$1${this.path}/$2`),
    )
    try {
      await import(/* @vite-ignore */ pathToFileURL(file).href)
    } catch (error) {
      if (error !== ENOUGH) throw error
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** A `handle` that has had enough after so many events. */
export function collector(enough: number) {
  const got: string[] = []
  return {
    got,
    handle: ({ id }: SseEvent) => {
      if (got.push(id ?? '') === enough) throw ENOUGH
    },
  }
}

/** A plain server on loopback. */
export async function listen(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

export async function storedIn(file: string): Promise<string | undefined> {
  const store = fileStore(file)
  const id = await store.load()
  await store.close?.()
  return id
}
