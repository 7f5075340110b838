import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser, until } from './places.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Where the picture of the page is put, if that is asked for: npm run test:browser -- example, with SCREENSHOT=file. */
const { SCREENSHOT } = process.env

let server: ChildProcess
let context: BrowserContext
let page: Page

beforeAll(async () => {
  server = spawn(process.execPath, ['docs/examples/browser/server.mjs'], {
    cwd: root,
    env: { ...process.env, PORT: '0' },
  })
  const [line] = await once(server.stdout as NonNullable<typeof server.stdout>, 'data')
  const [url = ''] = /http:\S+/.exec(String(line)) ?? []
  context = await openBrowser()
  page = await context.newPage()
  await page.setViewportSize({ width: 1100, height: 525 })
  await page.goto(url)
})
afterAll(async () => {
  server.kill()
  await context.close()
})

interface Counters {
  state: string
  received: number
  missing: number
  doubled: number
  reconnects: number
  fault: string
  error: string
}

async function counters(id: 'native' | 'ours'): Promise<Counters> {
  const entries = await page
    .locator(`#${id} output`)
    .evaluateAll(outputs =>
      (outputs as HTMLOutputElement[]).map(({ name, value }) => [
        name,
        /^\d+$/.test(value) ? Number(value) : value,
      ]),
    )
  return Object.fromEntries(entries)
}

test('the example shows a stream that survives what ends the native one', async () => {
  await until(async () => (await counters('native')).state === 'closed', 'the native one gave up', 40_000)
  await until(async () => (await counters('ours')).reconnects >= 5, 'five reconnects of ours', 40_000)
  await until(async () => (await counters('ours')).missing === 0, 'ours has everything', 20_000)
  const [native, ours] = [await counters('native'), await counters('ours')]
  expect(native.missing).toBeGreaterThan(0)
  expect(native.doubled).toBeGreaterThan(0)
  expect(native.fault).toContain('502')
  expect(ours).toMatchObject({ doubled: 0 })
  expect(ours.received).toBeGreaterThan(native.received)
  if (SCREENSHOT) await page.screenshot({ path: SCREENSHOT })
}, 120_000)
