import type { SecureContextOptions } from 'node:tls'
import { checkScript, checkScripts } from './check.js'
import { FaultServerOptionError } from './errors.js'
import type { OnUnknownId } from './ledger.js'
import type { EventLog, EventLogOptions } from './log.js'
import type { ConnectionScript } from './steps.js'

export interface FaultServerOptions {
  /** The events to send: a log, or the options of one. Default `eventLog()`: 100 events with opaque ids. */
  log?: EventLog | EventLogOptions
  /** One script a request, in order. Default none: every request gets `otherwise`. */
  script?: readonly ConnectionScript[]
  /** For every request after the script ran out. Default `[rest(), stay()]`: everything, then open and healthy. */
  otherwise?: ConnectionScript
  /** Scripts of their own for some paths, in order of their requests; the last one repeats. */
  routes?: Readonly<Record<string, readonly ConnectionScript[]>>
  /**
   * Where a client starts whose `Last-Event-ID` is not in the log: at the oldest event kept (`'start'`, the default,
   * and `'oldest'`: what most servers do), or after the newest (`'end'`), so that it loses everything between.
   */
  onUnknownId?: OnUnknownId
  /** The path of {@link FaultServer.url}. Default `/events`; a request for any other path is answered all the same. */
  path?: string
  /** Address to listen on, or several with one port. Default 127.0.0.1: nothing outside the machine can connect. */
  host?: string | readonly string[]
  /** Port, 0 to 65,535. Default 0: the system picks a free one. */
  port?: number
  /** Key and certificate (PEM): the server speaks https. Default none. */
  tls?: SecureContextOptions
  /** Refuses connections for the first so many milliseconds after the start. Default 0. */
  refuseFirstMs?: number
}

const NAMES: ReadonlySet<string> = new Set<keyof FaultServerOptions>([
  ...(['log', 'script', 'otherwise', 'routes', 'onUnknownId'] as const),
  ...(['path', 'host', 'port', 'tls', 'refuseFirstMs'] as const),
])

/** Throws {@link FaultServerOptionError} for anything that cannot be used; a log checks its own options. */
export function checkOptions(options: FaultServerOptions): void {
  for (const name of Object.keys(options))
    if (!NAMES.has(name)) throw new FaultServerOptionError(name, name, `one of ${[...NAMES].join(', ')}`)
  const { script, otherwise, routes, onUnknownId, path, host, port, refuseFirstMs } = options
  if (script !== undefined) checkScripts(script, 'script')
  if (otherwise !== undefined) checkScript(otherwise, 'otherwise')
  for (const [route, scripts] of Object.entries(routes ?? {})) {
    if (!route.startsWith('/')) throw new FaultServerOptionError('routes', route, 'paths that begin with "/"')
    checkScripts(scripts, `routes[${JSON.stringify(route)}]`)
  }
  if (onUnknownId !== undefined && !['start', 'end', 'oldest'].includes(onUnknownId))
    throw new FaultServerOptionError('onUnknownId', onUnknownId, '"start", "oldest" or "end"')
  if (path !== undefined && !/^\/\S*$/.test(path))
    throw new FaultServerOptionError('path', path, 'a path that begins with "/"')
  const hosts = [host ?? []].flat()
  if (host !== undefined && (hosts.length === 0 || hosts.some(one => typeof one !== 'string' || one === '')))
    throw new FaultServerOptionError('host', host, 'an address or several')
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw new FaultServerOptionError('port', port, 'an integer from 0 to 65535')
  if (refuseFirstMs !== undefined && !(refuseFirstMs >= 0 && refuseFirstMs <= 2_147_483_647))
    throw new FaultServerOptionError('refuseFirstMs', refuseFirstMs, 'milliseconds of 0 or more')
}
