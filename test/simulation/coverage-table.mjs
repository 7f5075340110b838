/** In a run of so many schedules each cell has to be met so often. */
const LONG_RUN = 200_000
const LEAST = 1_000

const ALL = ['idle', 'connecting', 'waiting', 'open, reading', 'open, consumer at work', 'closed']

/**
 * Which states of the client a fault can be met in, and why in no other; the first pattern that fits a fault counts.
 * What is met elsewhere in passing is printed, and not asked for.
 */
const REACHABLE = [
  {
    faults: /^(refuse|status|hang|content type|redirect|Retry-After|begins|greeting|load fails)/,
    states: ['connecting'],
    because: 'an answer, or a store that is loaded, is what a client waits for while it connects',
  },
  {
    faults: /^(reset|clean end|unframed end|silence|retry)/,
    states: ['open, reading', 'open, consumer at work'],
    because: 'a connection breaks while there is one; elsewhere only in the very moment it comes or goes',
  },
  {
    faults: /^(slow consumer|break|throw)/,
    states: ['open, consumer at work'],
    because:
      'a consumer has an event in hand when it does this, and a client with events to hand out is open',
  },
  {
    faults: /^save/,
    states: ['open, reading', 'open, consumer at work', 'closed'],
    because: 'a save follows an acknowledgement, or the end',
  },
  { faults: /./, states: ALL, because: 'this may happen at any time' },
]

/** Prints what the schedules met, and says whether it was enough. */
export function reportCoverage(results) {
  const schedules = results.reduce((sum, one) => sum + one.schedules, 0)
  const withFault = results.reduce((sum, one) => sum + one.withFault, 0)
  const share = withFault / schedules
  const cells = sumOf(results)
  console.log('How often each fault was met in each state of the client; - where that cannot be:')
  console.table(Object.fromEntries([...cells].map(([fault, row]) => [fault, rowOf(fault, row)])))
  for (const { faults, states, because } of REACHABLE)
    if (states !== ALL) console.log(`${faults.source}: ${states.join(' / ')}, because ${because}`)
  console.log(`${(100 * share).toFixed(1)} % of the schedules met a fault (at least 95 % must)`)
  const rare = schedules < LONG_RUN ? [] : rareCells(cells)
  if (rare.length > 0) console.log(`met less than ${LEAST} times: ${rare.join('; ')}`)
  return share >= 0.95 && rare.length === 0
}

/** A cell that was hardly met does not fail a short run. */
function rareCells(cells) {
  return [...cells].flatMap(([fault, row]) =>
    reachableFor(fault)
      .filter(state => (row[state] ?? 0) < LEAST)
      .map(state => `${fault} × ${state}: ${row[state] ?? 0}`),
  )
}

function reachableFor(fault) {
  return REACHABLE.find(({ faults }) => faults.test(fault)).states
}

function rowOf(fault, row) {
  const reachable = reachableFor(fault)
  return Object.fromEntries(ALL.map(state => [state, row[state] ?? (reachable.includes(state) ? 0 : '-')]))
}

function sumOf(results) {
  const cells = new Map()
  for (const { cells: rows } of results) {
    for (const [fault, row] of rows) {
      const total = cells.get(fault) ?? {}
      for (const [state, count] of Object.entries(row)) total[state] = (total[state] ?? 0) + count
      cells.set(fault, total)
    }
  }
  return new Map([...cells].sort(([one], [other]) => (one < other ? -1 : 1)))
}
