/** One promise of the benchmark, and whether it was kept. */
export interface Target {
  what: string
  /** The most that it may be. */
  limit: number
  measured: number
  /** How numbers of this kind are shown. */
  show: (value: number) => string
}

export const isMet = ({ measured, limit }: Target): boolean => measured <= limit

/** `met`, or by how much it was missed. */
export function verdict(target: Target): string {
  if (!Number.isFinite(target.measured)) return 'not measured'
  if (isMet(target)) return 'met'
  const { measured, limit, show } = target
  return limit === 0
    ? `missed by ${show(measured)}`
    : `missed by ${Math.round((measured / limit - 1) * 100)} %`
}
