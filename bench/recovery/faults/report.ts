import type { Saved } from '../../measure/cell.ts'
import { median } from '../../measure/rounds.ts'
import { table } from '../../report/markdown.ts'
import type { RecoveryResults } from './cell.ts'
import type { Verdict } from './judge.ts'

/** The worst of all rounds: a client that loses events sometimes loses events. */
export function worst(rounds: Verdict[][], fault: number): Verdict {
  const verdicts = rounds.map(round => round[fault] as Verdict)
  const badness = ({ end, lost, doubled }: Verdict) => (end === 'recovered' ? 0 : 1e6) + lost * 1e3 + doubled
  return verdicts.reduce((a, b) => (badness(b) > badness(a) ? b : a))
}

export const isClean = ({ end, lost, doubled }: Verdict): boolean =>
  end === 'recovered' && lost === 0 && doubled === 0

/** In a few words. */
export function inWords(verdict: Verdict): string {
  if (isClean(verdict)) return 'clean'
  if (verdict.end !== 'recovered') return verdict.end
  return verdict.lost > 0 ? `${verdict.lost} lost` : `${verdict.doubled} doubled`
}

/** Every fault, every client. */
export function faultMatrix({ results: { faults, rounds } }: Saved<RecoveryResults>): string {
  const rows = faults.map((fault, index) => [
    fault,
    ...Object.values(rounds).map(own => inWords(worst(own, index))),
  ])
  return table(['fault', ...Object.keys(rounds)], rows)
}

export function faultTable(saved: Saved<RecoveryResults>): string {
  const { faults, rounds } = saved.results
  const rows = Object.entries(rounds).map(([client, own]) => {
    const worsts = faults.map((_, fault) => worst(own, fault))
    const sum = (of: (verdict: Verdict) => number) => worsts.reduce((total, one) => total + of(one), 0)
    const times = (of: (verdict: Verdict) => number | undefined) => {
      const known = own.flat().flatMap(verdict => of(verdict) ?? [])
      return known.length === 0 ? '—' : `${Math.round(median(known))} ms`
    }
    return [
      client,
      `${worsts.filter(isClean).length} of ${faults.length}`,
      String(sum(({ end, lost }) => (end === 'recovered' ? lost : 0))),
      String(sum(({ doubled }) => doubled)),
      String(sum(({ altered }) => altered)),
      String(worsts.filter(({ end }) => end === 'hung').length),
      String(worsts.filter(({ end }) => end === 'gave up').length),
      times(({ noticedMs }) => noticedMs),
      times(({ recoveredMs }) => recoveredMs),
    ]
  })
  const header = [
    'client',
    'clean',
    'lost',
    'doubled',
    'altered',
    'hung',
    'gave up',
    'noticed after',
    'recovered after',
  ]
  return `${table(header, rows)}\n\n${faultMatrix(saved)}`
}
