// The relays of the cycles, one a stream, so that each stream breaks on its own.
import { type ChaosFault, chaosRelay } from 'resilient-sse/testing'
import { STREAMS } from './stream.ts'

const { target } = JSON.parse(process.argv[2] as string) as { target: string }
process.once('disconnect', () => process.exit())
const relays = await Promise.all(
  Array.from({ length: STREAMS }, (_, stream) => chaosRelay({ target: `${target}/${stream}` })),
)
process.on('message', ({ stream, fault }: { stream: number; fault: ChaosFault }) => {
  relays[stream]?.strike(fault)
})
process.send?.({ urls: relays.map(relay => relay.url) })
