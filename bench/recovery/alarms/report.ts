import type { Saved } from '../../measure/cell.ts'
import { count, table } from '../../report/markdown.ts'
import type { AlarmsResults } from './client.process.ts'
import { EVERY_MS, PATIENCE_MS, STREAMS, WAVER } from './rhythm.ts'

export function alarmsTable({ results }: Saved<AlarmsResults>): string {
  const { heartbeats, blocks, blockedMs, alarms, falseAlarms, noticed, noticedMs } = results
  const rhythm = `every ${count(EVERY_MS)} ms ± ${WAVER * 100} %, watchdog ${count(PATIENCE_MS)} ms`
  const rows = [
    [`heartbeats (${rhythm})`, count(heartbeats)],
    ['event loop blocked', `${blocks} times, ${count(blockedMs / 1_000)} s`],
    ['connections ended within the patience after a write', count(falseAlarms)],
    ['other connections ended', count(alarms - falseAlarms)],
    ['streams that noticed a silent server', `${noticed} of ${STREAMS}`],
    ['after', `${count(noticedMs[0])} to ${count(noticedMs[2])} ms, median ${count(noticedMs[1])} ms`],
  ]
  return table(['', ''], rows)
}
