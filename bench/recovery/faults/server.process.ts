// A fault server for each fault, and an account of when each struck.
import { FaultServer } from 'resilient-sse/testing'
import { FAULTS, HEALTHY, logOptions } from './faults.ts'

process.once('disconnect', () => process.exit())
const servers = await Promise.all(
  FAULTS.map(fault =>
    FaultServer.start({ log: logOptions(fault), script: fault.script, otherwise: HEALTHY }),
  ),
)
process.on('message', () => {
  process.send?.(
    servers.map(({ faults, requests }) => ({
      // The first that struck; a polite end counts as none, and is when its answer was complete.
      struckAt: performance.timeOrigin + (faults[0]?.at ?? requests[0]?.closedAt ?? Number.NaN),
      dials: requests.length,
    })),
  )
})
process.send?.(servers.map(({ url }) => url))
