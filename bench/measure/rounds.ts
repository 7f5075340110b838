import { NoResult } from './processes.ts'

/** What one round of one client brought, or why it brought nothing. */
export type Round<Figures> = Figures | { failed: string }

export const failed = <Figures extends object>(round: Round<Figures>): round is { failed: string } =>
  'failed' in round

/** A client this much slower than the fastest is measured twice, which says enough. */
const FAR_BEHIND = 2

/**
 * Every client once, then every client again: what the machine does meanwhile meets all of them alike. A client that
 * failed is not asked again.
 */
export async function interleave<Figures extends object>(
  clients: readonly string[],
  rounds: number,
  measure: (client: string) => Promise<Figures>,
  cost: (figures: Figures) => number,
): Promise<Record<string, Round<Figures>[]>> {
  const results: Record<string, Round<Figures>[]> = Object.fromEntries(clients.map(client => [client, []]))
  for (let nr = 0; nr < rounds; nr++) {
    for (const client of clients) {
      const own = results[client] as Round<Figures>[]
      if (own.some(failed) || (nr >= 2 && isFarBehind(own, results, cost))) continue
      own.push(await measure(client).catch(reasonOf))
    }
  }
  return results
}

function reasonOf(error: unknown): { failed: string } {
  if (error instanceof NoResult) return { failed: error.message }
  throw error
}

function isFarBehind<Figures extends object>(
  own: Round<Figures>[],
  all: Record<string, Round<Figures>[]>,
  cost: (figures: Figures) => number,
): boolean {
  const leastOf = (rounds: Round<Figures>[]) =>
    Math.min(...rounds.map(round => (failed(round) ? Number.POSITIVE_INFINITY : cost(round))))
  return leastOf(own) > FAR_BEHIND * Math.min(...Object.values(all).map(leastOf))
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The value below which a share of all lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}
