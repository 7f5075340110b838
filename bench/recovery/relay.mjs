// The relays of the cycles, one a stream, so that each stream breaks on its own.
import { chaosRelay } from '../../dist/testing.js'
import { STREAMS } from './stream.mjs'

const target = process.argv[2]
const relays = await Promise.all(
  Array.from({ length: STREAMS }, (_, stream) => chaosRelay({ target: `${target}/${stream}` })),
)
process.on('message', ({ stream, fault }) => relays[stream].strike(fault))
process.once('disconnect', () => process.exit())
process.send({ urls: relays.map(relay => relay.url) })
