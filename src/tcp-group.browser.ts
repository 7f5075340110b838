import { refuseOption } from './checks.ts'

export const TCP_NAMES: string[] = []

export function resolveTcp(given: unknown): object {
  if (given === undefined) return {}
  refuseOption('tcp', 'cannot take effect here: the fetch of the platform makes its own connections')
}
