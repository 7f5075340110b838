import type { McpRequest } from './request.ts'

/** A stream whose next leg the SDK has to ask for: only it has the credentials. */
export interface HandedOver {
  /** What the SDK is answered when it comes for it. */
  comesBack(request: McpRequest): Response
}

/** What the SDKs take quietly for "no stream here". */
export function notOffered(): Response {
  return new Response(null, { status: 405 })
}

/** The SDK may come, but everything was said. */
export const NOTHING_LEFT: HandedOver = { comesBack: notOffered }

/** More are waiting only when nobody comes for them. */
const MAX_WAITING = 1_000

/** Streams that the SDK will come for, found again by the cursor that it was given. */
export class Handovers {
  readonly #waiting = new Map<string, HandedOver>()
  /** Of each session, the stream whose refusal the SDK has been told of. */
  readonly #told = new Map<string, HandedOver>()

  expect(session: string | null, cursor: string, stream: HandedOver): void {
    remember(this.#waiting, keyOf(session, cursor), stream)
  }

  /** After a 401, line 1 of the SDK comes back without the cursor. */
  expectWithoutCursor(session: string | null, stream: HandedOver): void {
    remember(this.#told, keyOf(session, ''), stream)
  }

  /** The stream that a GET is for, if it is one of these. */
  claim(session: string | null, cursor: string): HandedOver | undefined {
    const key = keyOf(session, cursor)
    const told = this.#told.get(keyOf(session, ''))
    const stream = this.#waiting.get(key) ?? (cursor === '' ? told : undefined)
    this.#waiting.delete(key)
    if (stream !== undefined && stream === told) this.#told.delete(keyOf(session, ''))
    return stream
  }
}

function keyOf(session: string | null, cursor: string): string {
  return `${session ?? ''}\n${cursor}`
}

function remember(map: Map<string, HandedOver>, key: string, stream: HandedOver): void {
  const oldest = map.keys().next()
  if (map.size >= MAX_WAITING && !oldest.done) map.delete(oldest.value)
  map.set(key, stream)
}
