import { machine } from './machine.ts'
import type { Watchdog } from './watchdog.ts'

/** How often the machine's own addresses are compared; an address must be absent in two looks. */
const ADDRESS_LOOK_MS = 2_000
/** The machine slept when its uptime ran ahead of the process's clock by this much. */
const SLEEP_MS = 10_000

interface Watched {
  addresses: ReadonlySet<string>
  /** The look before this one already missed one of them. */
  missing: boolean
}

const watched = new Map<Watchdog, Watched>()
let timer: ReturnType<typeof setInterval> | undefined
let periodMs = Number.POSITIVE_INFINITY
let lastLookAt = 0
let stopWaking: () => void = () => {}
let lastUptimeMs = 0
let lastAddressLookAt = 0

/** Watches a connection until the returned function is called. One timer serves all streams of the process. */
export function watch(watchdog: Watchdog): () => void {
  if (watched.size === 0) {
    lastAddressLookAt = performance.now()
    stopWaking = machine.onWake(onWake)
    restart(watchdog.periodMs)
  } else if (watchdog.periodMs < periodMs) {
    restart(watchdog.periodMs)
  }
  watched.set(watchdog, { addresses: machine.addresses(), missing: false })
  return () => {
    watchdog.stop()
    watched.delete(watchdog)
    if (watched.size > 0) return
    stopWaking()
    clearInterval(timer)
    timer = undefined
    periodMs = Number.POSITIVE_INFINITY
  }
}

function restart(period: number): void {
  clearInterval(timer)
  periodMs = period
  lastLookAt = performance.now()
  lastUptimeMs = machine.uptimeMs()
  timer = setInterval(look, period)
  // The sockets keep the process alive; a look at them should not.
  if (typeof timer === 'object') timer.unref?.()
}

function look(): void {
  const now = performance.now()
  const uptimeMs = machine.uptimeMs()
  const sinceLastMs = now - lastLookAt
  // Some systems let the monotonic clock run on during sleep: then the look comes late instead.
  const slept = uptimeMs - lastUptimeMs - sinceLastMs > SLEEP_MS || sinceLastMs - periodMs > machine.frozenMs
  lastLookAt = now
  lastUptimeMs = uptimeMs

  // While the event loop was blocked no byte could be seen, so the time of the block is not silence.
  const elapsedMs = Math.min(sinceLastMs, Math.max(2 * periodMs, machine.throttledMs))
  const suspects: Watchdog[] = []
  for (const watchdog of watched.keys()) if (watchdog.look(elapsedMs)) suspects.push(watchdog)
  const hinted = slept ? [...watched.keys()] : missingAddresses(now)
  if (suspects.length > 0 || hinted.length > 0) inquire(suspects, hinted)
}

/** The platform tells that the path may be another one: what came until now proves nothing about it. */
function onWake(): void {
  for (const watchdog of watched.keys()) watchdog.look(0)
  inquire([], [...watched.keys()])
}

/** Timers run before the poll phase: bytes that wait in a socket get one more chance to be read. */
function inquire(suspects: Watchdog[], hinted: Watchdog[]): void {
  machine.afterPoll(() => {
    for (const watchdog of suspects) if (watched.has(watchdog)) watchdog.judge()
    for (const watchdog of hinted) if (watched.has(watchdog)) watchdog.hint()
  })
}

function missingAddresses(now: number): Watchdog[] {
  if (now - lastAddressLookAt < ADDRESS_LOOK_MS) return []
  lastAddressLookAt = now
  const present = machine.addresses()
  const hinted: Watchdog[] = []
  for (const [watchdog, entry] of watched) {
    // The same set object is handed out as long as nothing changed: the usual case costs one comparison.
    if (entry.addresses === present) continue
    const missing = [...entry.addresses].some(address => !present.has(address))
    if (missing && entry.missing) {
      hinted.push(watchdog)
      entry.addresses = present
    }
    entry.missing = missing && entry.addresses !== present
  }
  return hinted
}
