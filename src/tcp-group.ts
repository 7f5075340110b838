import { checkBoolean, checkGroup, checkNumber, checkObject, refuseOption, withDefaults } from './checks.ts'
import { type ResolvedTcp, TCP_DEFAULTS, type TcpOptions } from './layers/tcp.ts'

export const TCP_NAMES = [...Object.keys(TCP_DEFAULTS), 'proxy', 'connect']

const HOUR_MS = 3_600_000

export function resolveTcp(given: TcpOptions | undefined): ResolvedTcp {
  checkGroup('tcp', given, TCP_NAMES)
  const tcp = withDefaults(TCP_DEFAULTS, given)
  checkNumber('tcp.keepAliveDelayMs', tcp.keepAliveDelayMs, 1_000, 2 * HOUR_MS)
  checkNumber('tcp.connectTimeoutMs', tcp.connectTimeoutMs, 100, 300_000)
  checkBoolean('tcp.noDelay', tcp.noDelay)
  checkBoolean('tcp.allowH2', tcp.allowH2)
  if (tcp.connect !== undefined) checkObject('tcp.connect', tcp.connect, 'an object')
  const { proxy } = tcp
  if (!tcp.noDelay && proxy !== undefined) {
    refuseOption('tcp.noDelay', 'false cannot take effect beside proxy')
  }
  if (proxy !== undefined && proxy !== 'env' && !isProxyUrl(proxy)) {
    // Not repeated: it may hold a password.
    refuseOption('tcp.proxy', "not an http(s) or socks5 URL, and not 'env'")
  }
  return tcp
}

function isProxyUrl(proxy: unknown): boolean {
  if (typeof proxy !== 'string' && !(proxy instanceof URL)) return false
  return /^(https?|socks5?):\/\/[^/]/i.test(String(proxy)) && URL.canParse(proxy)
}
