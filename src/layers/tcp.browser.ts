import { SseError } from '../errors.ts'

/** Layer 1 is the browser's own: it keeps and shares its connections as it sees fit. */
export function checkDispatcher(_dispatcher: unknown): void {
  throw new SseError(
    'ERR_SSE_OPTION',
    'dispatcher: cannot take effect here: the fetch of the platform makes its own connections',
  )
}
