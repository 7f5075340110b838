import { grouped, write } from '../terminal.ts'
import type { Fault } from './faults.ts'
import { startServer } from './run.ts'

/** How often new faults are looked for, in milliseconds. */
const LOOK_MS = 200
/** The longest that a timer can wait: until Ctrl-C. */
const FOREVER_MS = 2_147_483_647
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

/** Leaves the demo's server running, with its faults again and again, and tells each one that strikes. */
export async function serve(
  events: number,
  seed: number,
  faults: readonly Fault[],
  port: number,
): Promise<number> {
  const { plan, server } = await startServer(events, seed, faults, port)
  const stopped = new Promise<number>(resolve => {
    for (const [signal, code] of Object.entries(SIGNALS)) process.once(signal, () => resolve(code))
  })
  // A date would be long past when its turn comes, and a 401 ends every client without fresh tokens.
  const usable = plan
    .script(Date.now())
    .filter(
      script =>
        !script.some(
          step =>
            step.do === 'answer' && (step.status === 401 || step.headers?.['Retry-After']?.includes('GMT')),
        ),
    )
  await server.setScript(usable)
  await write(
    process.stdout,
    [
      `${server.url}`,
      `${grouped(events)} events and ${plan.strokes.length} kinds of faults, for one client at a time. Try`,
      `  npx resilient-sse ${server.url} --heartbeat 2`,
      `  curl -N ${server.url}`,
      'Ctrl-C ends it.',
      '',
      '',
    ].join('\n'),
  )
  let requests = 0
  let told = 0
  const again = async () => {
    for (;;) {
      requests += usable.length
      await server.waitForRequests(requests, FOREVER_MS)
      await server.setScript(usable)
    }
  }
  again().catch(() => {})
  const timer = setInterval(async () => {
    const faults = await server.faults().catch(() => [])
    for (const { request, kind, detail, position } of faults.slice(told)) {
      const what = detail === undefined ? kind : `${kind} ${detail}`
      process.stdout.write(`request ${request + 1}, at event ${grouped(position)}: ${what}\n`)
    }
    told = faults.length
  }, LOOK_MS)
  const code = await stopped
  clearInterval(timer)
  await server.close()
  return code
}
