import { SseError } from '../../../index.ts'
import { isMcpFetch } from '../fetch.ts'
import { type McpFetchOptions, type McpSettings, resolveMcpOptions } from '../options.ts'
import type { InitializeResult } from './remembered.ts'

interface SessionEventBodies {
  /**
   * The server has forgotten the session: `status` is its answer (404, 410, 400), `undefined` when a stream found out.
   * What it had not answered within 5 s is settled with -32000.
   */
  lost: { sessionId: string | undefined; status: number | undefined }
  /**
   * There is a new session; messages that had been refused are sent again. `changed` names what the server says of itself
   * that `previous` did not. `notReplayed` names the requests (`logging/setLevel`, `resources/subscribe`) that this server
   * does not offer or has refused.
   */
  initialized: {
    sessionId: string | undefined
    result: InitializeResult
    previous: InitializeResult
    changed: readonly (keyof InitializeResult)[]
    notReplayed: readonly string[]
  }
  /** No session could be opened: what waited for one is settled. The next message tries anew. */
  failed: { error: unknown }
}

/** What happens to the sessions of a transport. `at` is in milliseconds since the epoch. */
export type McpSessionEvent = {
  [Type in keyof SessionEventBodies]: { readonly type: Type; readonly at: number } & Readonly<
    SessionEventBodies[Type]
  >
}[keyof SessionEventBodies]

export type TellSession = <Type extends keyof SessionEventBodies>(
  type: Type,
  body: SessionEventBodies[Type],
) => void

/**
 * `mcpFetch`'s options, but for `fetch`, which is one of the SDK's transport. `backoff.maxAttempts` (default 7) is also how
 * often in a row a session is looked for, and a message tried to be sent while the server cannot be reached: 47 s at most,
 * less than the 60 s of the SDKs' own timeout. `openTimeoutMs` (default 30,000) is also the time that opening a session
 * may take.
 */
export interface McpTransportOptions extends Omit<McpFetchOptions, 'fetch'> {
  /** What happens to the sessions. Default none. What it throws is ignored. */
  onSession?: ((event: McpSessionEvent) => void) | undefined
}

/** Options with defaults. */
export interface TransportSettings {
  /** Of the streams. */
  settings: McpSettings
  /** The same over another fetch, which brings its own connections. */
  settingsOver: (fetch: typeof globalThis.fetch) => McpSettings
  tell: TellSession
}

/** @throws SseError `ERR_SSE_OPTION`, naming the option. */
export function resolveTransportOptions(
  given: McpTransportOptions,
  fetch: typeof globalThis.fetch | undefined,
): TransportSettings {
  const refuse = (name: string, why: string) => {
    throw new SseError('ERR_SSE_OPTION', `${name}: ${why}`)
  }
  if (typeof given !== 'object' || given === null) refuse('resilience', 'not an object')
  if ('fetch' in given) refuse('fetch', "belongs to the transport's own options, and is taken from there")
  if (isMcpFetch(fetch)) refuse('fetch', 'mcpFetch is a part of mcpTransport already; its options go there')
  const { onSession, ...rest } = given
  if (onSession !== undefined && typeof onSession !== 'function') refuse('onSession', 'not a function')
  return {
    settings: resolveMcpOptions({ ...rest, fetch }),
    settingsOver: other => resolveMcpOptions({ ...rest, tcp: undefined, fetch: other }),
    tell: (type, body) => {
      try {
        const told: unknown = onSession?.({ type, at: Date.now(), ...body } as never)
        if (told instanceof Promise) told.catch(() => {})
      } catch {
        // A listener cannot hurt a session.
      }
    },
  }
}
