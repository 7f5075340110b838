import { asFault, type ChaosFault, type ChaosFaultName, complaint } from './chaos-faults.js'
import type { ChaosRecord } from './chaos-records.js'
import { ChaosOptionError } from './errors.js'

export interface ChaosRelayOptions {
  /** The real server: an http or https URL, or `host:port`. What is behind it is opaque: TLS passes through. */
  target: string | URL
  /**
   * What happens to connections, as data: `['reset', { do: 'stall', ms: 500 }]`. Each connection gets one; each round
   * deals every fault once (or `times` times), shuffled. Default none: the relay passes everything until `strike()`.
   */
  faults?: readonly (ChaosFault | ChaosFaultName)[]
  /** Chooses order, positions and times; the same seed gives the same schedule. An integer. Default 1. */
  seed?: number
  /** After so many rounds connections are left alone. An integer of 0 or more, or Infinity (default). */
  rounds?: number
  /** Address to listen on. Default 127.0.0.1: nothing outside the machine can connect. */
  host?: string
  /** Port to listen on, 0 to 65,535. Default 0: the system picks a free one. */
  port?: number
  /** Told of each record when it is made. An error it throws is not caught. */
  onStrike?: (record: ChaosRecord) => void
}

export interface ResolvedChaos {
  target: { host: string; port: number }
  /** TLS: nothing can be read on the way. */
  secure: boolean
  /** What a client asks the relay for: the target's URL with the relay's address, or the root. */
  urlOf: (host: string, port: number) => string
  faults: readonly ChaosFault[]
  seed: number
  rounds: number
  host: string
  port: number
  onStrike: (record: ChaosRecord) => void
}

const NAMES: readonly (keyof ChaosRelayOptions)[] = [
  ...(['target', 'faults', 'seed', 'rounds', 'host', 'port', 'onStrike'] as const),
]
const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 }

/** Options with their defaults. @throws ChaosOptionError for anything that cannot be used. */
export function resolveChaos(options: ChaosRelayOptions): ResolvedChaos {
  if (typeof options !== 'object' || options === null)
    throw new ChaosOptionError('options', options, 'an object with a target')
  for (const name of Object.keys(options))
    if (!NAMES.some(known => known === name))
      throw new ChaosOptionError(name, name, `one of ${NAMES.join(', ')}`)
  const { faults = [], seed = 1, rounds = Number.POSITIVE_INFINITY } = options
  const { host = '127.0.0.1', port = 0, onStrike = () => {} } = options
  const target = targetOf(options.target)
  if (!Array.isArray(faults)) throw new ChaosOptionError('faults', faults, 'an array of faults')
  const checked = faults.map((fault, index) => checkFault(fault, `faults[${index}]`, target.secure))
  if (!Number.isSafeInteger(seed)) throw new ChaosOptionError('seed', seed, 'an integer')
  if (!(rounds === Number.POSITIVE_INFINITY || (Number.isSafeInteger(rounds) && rounds >= 0)))
    throw new ChaosOptionError('rounds', rounds, 'an integer of 0 or more, or Infinity')
  if (typeof host !== 'string' || host === '') throw new ChaosOptionError('host', host, 'an address')
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw new ChaosOptionError('port', port, 'an integer from 0 to 65535')
  if (typeof onStrike !== 'function') throw new ChaosOptionError('onStrike', onStrike, 'a function')
  return { ...target, faults: checked, seed, rounds, host, port, onStrike }
}

/** A fault that can be played, by whatever name the caller knows it. @throws ChaosOptionError */
export function checkFault(fault: unknown, name: string, secure: boolean): ChaosFault {
  const found = complaint(fault)
  if (found !== undefined) {
    const [field, value, allowed] = found
    throw new ChaosOptionError(field === '' ? name : `${name}.${field}`, value, allowed)
  }
  const checked = asFault(fault as ChaosFault | ChaosFaultName)
  if (secure && 'inside' in checked && checked.inside !== undefined)
    throw new ChaosOptionError(
      `${name}.inside`,
      checked.inside,
      'a position (afterBytes): inside TLS nobody can see where an event is',
    )
  return checked
}

function targetOf(given: unknown): Pick<ResolvedChaos, 'target' | 'secure' | 'urlOf'> {
  const text = typeof given === 'string' || given instanceof URL ? String(given) : ''
  const isUrl = /^[a-z][a-z\d+.-]*:\/\//i.test(text)
  const withScheme = isUrl ? text : `http://${text}`
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined
  // URL leaves out a port that is the scheme's own.
  const hasPort = /:\d+$/.test(text)
  if (url === undefined || DEFAULT_PORTS[url.protocol] === undefined || !(isUrl || hasPort))
    throw new ChaosOptionError('target', given, 'an http or https URL, or host:port')
  if (url.port === '0') throw new ChaosOptionError('target', given, 'a port from 1 to 65535')
  return {
    // Brackets belong to URLs; connect() takes the bare address.
    target: {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port) || (DEFAULT_PORTS[url.protocol] as number),
    },
    secure: url.protocol === 'https:',
    urlOf: (host, port) => {
      const relayed = new URL(url)
      relayed.hostname = host.includes(':') ? `[${host}]` : host
      relayed.port = String(port)
      return relayed.href
    },
  }
}
