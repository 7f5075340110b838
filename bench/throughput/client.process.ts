// One client, one stream: tells what it received, and the CPU time from the first measured event to the last.
import { BARE_FETCH, readBytes } from '../clients/floors.ts'
import { clientOf } from '../clients/index.ts'
import { Checksum } from './stream.ts'

export interface ThroughputOrder {
  client: string
  url: string
  events: number
  /** Index of the event from which on time is taken. */
  from: number
  /** Of the body, for who reads only those. */
  bytes: number
  limitCpuMs: number
}

const order = JSON.parse(process.argv[2] as string) as ThroughputOrder
const { client, url, events, from, bytes, limitCpuMs } = order
process.once('disconnect', () => process.exit())
let startedAt: NodeJS.CpuUsage | undefined

function finish(result: object): void {
  const { user, system } = process.cpuUsage(startedAt)
  process.send?.({ ...result, cpuNs: (user + system) * 1_000 }, () => process.exit())
}

setInterval(() => {
  const { user, system } = process.cpuUsage()
  if ((user + system) / 1_000 > limitCpuMs) finish({ over: true })
}, 500).unref()

if (client === BARE_FETCH) {
  await readBytes(url, bytes, () => {
    startedAt = process.cpuUsage()
  })
  finish({ bytes })
} else {
  const checksum = new Checksum()
  await clientOf(client).open(url, {
    onEvent(data, id) {
      if (startedAt === undefined && checksum.count === from) startedAt = process.cpuUsage()
      checksum.add(data, id)
      if (checksum.count === events) finish({ count: checksum.count, sum: checksum.sum })
    },
    onEnd: () => process.exit(),
  })
}
