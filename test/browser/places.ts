import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { type BrowserContext, chromium, type Page, type Worker } from 'playwright-core'
import { CHROMIUM } from './executable.mjs'
import type { Seen, StartOptions } from './in-page.ts'

/** Where in a browser code can run. */
export const PLACES = ['page', 'worker', 'service worker'] as const
export type PlaceKind = (typeof PLACES)[number]

/** The paths that a test's server has to answer with {@link PAGE} and {@link clientScript}. */
export interface Site {
  pageUrl: string
  scriptUrl: string
}

export const PAGE =
  '<!doctype html><meta charset="utf-8"><title>streams</title><link rel="icon" href="data:,">'

let script: Promise<string> | undefined

/** in-page.ts with the package's build for browsers, as a classic script. */
export function clientScript(): Promise<string> {
  script ??= build({
    entryPoints: [fileURLToPath(new URL('in-page.ts', import.meta.url))],
    alias: {
      'resilient-sse/eventsource': fileURLToPath(
        new URL('../../dist/browser/eventsource.js', import.meta.url),
      ),
    },
    bundle: true,
    write: false,
    format: 'iife',
  }).then(({ outputFiles: [file] }) => file?.text ?? '')
  return script
}

/** A browser without a window, with a profile that is thrown away. */
export async function openBrowser(): Promise<BrowserContext> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    // As root, in containers, there is no sandbox to be had; what runs here is our own.
    args: ['--no-sandbox', '--ignore-certificate-errors'],
  })
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  context.on('close', () => void browser.close())
  return context
}

/** One page, dedicated worker or service worker, in which streams can be started. */
export class Place implements AsyncDisposable {
  readonly page: Page
  readonly #target: Worker

  private constructor(page: Page, target: Page | Worker) {
    this.page = page
    // What both can do is all that is asked of it.
    this.#target = target as Worker
  }

  static async open(context: BrowserContext, kind: PlaceKind, { pageUrl, scriptUrl }: Site): Promise<Place> {
    const page = await context.newPage()
    await page.goto(pageUrl)
    if (kind === 'page') {
      await page.addScriptTag({ url: scriptUrl })
      return new Place(page, page)
    }
    if (kind === 'worker') {
      const [worker] = await Promise.all([
        page.waitForEvent('worker'),
        page.evaluate(url => void new Worker(url), scriptUrl),
      ])
      return new Place(page, worker)
    }
    const [worker] = await Promise.all([
      context.waitForEvent('serviceworker', one => one.url() === scriptUrl),
      page.evaluate(url => navigator.serviceWorker.register(url).then(() => {}), scriptUrl),
    ])
    return new Place(page, worker)
  }

  async start(options: StartOptions): Promise<Stream> {
    const target = this.#target
    const id = await target.evaluate(given => globalThis.sse.start(given), options)
    return {
      look: () => target.evaluate(run => globalThis.sse.look(run), id),
      close: () => target.evaluate(run => globalThis.sse.close(run), id),
    }
  }

  /** Sends an event to the global object. */
  async dispatch(type: string): Promise<void> {
    await this.#target.evaluate(name => void globalThis.dispatchEvent(new Event(name)), type)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.close()
  }
}

/** A stream that runs in a browser. */
export interface Stream {
  look(): Promise<Seen>
  close(): Promise<void>
}

/** Waits for what a browser does in its own time. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  patienceMs = 10_000,
): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end; ) {
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error(`not within ${patienceMs / 1_000} s: ${what}`)
}
