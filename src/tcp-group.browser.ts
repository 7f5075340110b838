import { SseError } from './errors.ts'

export const TCP_NAMES: string[] = []

export function resolveTcp(given: unknown): object {
  if (given === undefined) return {}
  throw new SseError(
    'ERR_SSE_OPTION',
    'tcp: cannot take effect here: the fetch of the platform makes its own connections',
  )
}
