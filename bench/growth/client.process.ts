// One stream for a very long time: what each million of events has cost.
import { clientOf } from '../clients/index.ts'

const { client, url, events, slices } = JSON.parse(process.argv[2] as string) as {
  client: string
  url: string
  events: number
  slices: number
}
process.once('disconnect', () => process.exit())

const perSlice = events / slices
const done: { cpuNsPerEvent: number; rssBytes: number }[] = []
let cpu: NodeJS.CpuUsage | undefined
let count = 0
let doubled = 0
let last = ''

await clientOf(client).open(url, {
  onEvent(_, id = '') {
    cpu ??= process.cpuUsage()
    if (id === last) doubled++
    last = id
    if (++count % perSlice !== 0) return
    const { user, system } = process.cpuUsage(cpu)
    cpu = process.cpuUsage()
    done.push({ cpuNsPerEvent: ((user + system) * 1_000) / perSlice, rssBytes: process.memoryUsage().rss })
    if (count === events) process.send?.({ done, doubled, last }, () => process.exit())
  },
  onEnd: () => process.exit(),
})
