import { FIRST_WITHOUT_RESUME } from './era.ts'

/** What a server says of itself in answer to `server/discover` (2026-07-28). */
export interface DiscoverResult {
  supportedVersions: string[]
  capabilities: object
  instructions?: string | undefined
}

/** The capabilities of that revision, with what is said of each. The SDKs refuse a result whose flags are no booleans. */
const CAPABILITIES: Record<string, readonly string[]> = {
  experimental: [],
  extensions: [],
  logging: [],
  completions: [],
  prompts: ['listChanged'],
  resources: ['listChanged', 'subscribe'],
  tools: ['listChanged'],
}

/**
 * A result as it can be used, or `undefined`: a store may hold rubbish, or a result of another time. An SDK that is given
 * such a thing takes the server for one of an older revision.
 */
export function discoverResultOf(value: unknown): DiscoverResult | undefined {
  if (!isObject(value)) return undefined
  const { supportedVersions, capabilities, instructions, _meta, resultType = 'complete' } = value
  const isUsable =
    resultType === 'complete' &&
    Array.isArray(supportedVersions) &&
    supportedVersions.every(version => typeof version === 'string') &&
    supportedVersions.some(version => version >= FIRST_WITHOUT_RESUME) &&
    isObject(capabilities) &&
    Object.entries(CAPABILITIES).every(([name, flags]) => isCapability(capabilities[name], flags)) &&
    (instructions === undefined || typeof instructions === 'string') &&
    (_meta === undefined || isObject(_meta))
  return isUsable ? (value as unknown as DiscoverResult) : undefined
}

function isCapability(value: unknown, flags: readonly string[]): boolean {
  if (value === undefined) return true
  return isObject(value) && flags.every(flag => ['boolean', 'undefined'].includes(typeof value[flag]))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const SERVER_INFO_META_KEY = 'io.modelcontextprotocol/serverInfo'

/** Whether the server says the same of itself. How long that may be cached, and what it traces, is not of itself. */
export function saysTheSame(one: DiscoverResult, other: DiscoverResult): boolean {
  return isSame(ownWords(one), ownWords(other))
}

function ownWords({ supportedVersions, capabilities, instructions, ...rest }: DiscoverResult): object {
  const { _meta } = rest as { _meta?: Record<string, unknown> }
  return { supportedVersions, capabilities, instructions, serverInfo: _meta?.[SERVER_INFO_META_KEY] }
}

/** Of two values of JSON. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return (
    Array.isArray(one) === Array.isArray(other) &&
    [...names].every(name => isSame(Reflect.get(one, name), Reflect.get(other, name)))
  )
}
