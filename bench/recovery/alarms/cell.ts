import type { Cell } from '../../measure/cell.ts'
import { message, start, stop } from '../../measure/processes.ts'
import type { AlarmsResults } from './client.process.ts'
import { STREAMS } from './rhythm.ts'

const HEARTBEATS = 100_000
/** The streams have them in 300 s; a machine that is too busy for that is not waited for. */
const LIMIT_MS = 330_000
const AFTERWARDS_MS = 60_000

export const ALARMS_CELL: Cell<AlarmsResults> = {
  name: 'recovery/alarms',
  title: `false alarms of the watchdog: ${STREAMS} quiet streams and a blocked event loop`,
  byDefault: false,
  async run({ quick }) {
    const limitMs = quick ? 20_000 : LIMIT_MS
    const server = start('recovery/alarms/server', {})
    const { url } = await message<{ url: string }>(server, 10_000)
    const client = start('recovery/alarms/client', { url, wanted: HEARTBEATS, limitMs })
    try {
      await message<'silence'>(client, limitMs + AFTERWARDS_MS)
      server.send('silence')
      client.send(await message<object>(server, 10_000))
      return await message<AlarmsResults>(client, AFTERWARDS_MS)
    } finally {
      await Promise.all([client, server].map(stop))
    }
  },
}
