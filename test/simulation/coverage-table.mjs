/** Prints what the schedules met, and says whether it was enough. */
export function reportCoverage(results) {
  const schedules = results.reduce((sum, one) => sum + one.schedules, 0)
  const withFault = results.reduce((sum, one) => sum + one.withFault, 0)
  const share = withFault / schedules
  console.log(`${(100 * share).toFixed(1)} % of the schedules met a fault (at least 95 % must)`)
  const cells = new Map()
  for (const { cells: rows } of results) {
    for (const [kind, row] of rows) {
      const total = cells.get(kind) ?? {}
      for (const [state, count] of Object.entries(row)) total[state] = (total[state] ?? 0) + count
      cells.set(kind, total)
    }
  }
  console.table(Object.fromEntries([...cells].sort(([one], [other]) => (one < other ? -1 : 1))))
  return share >= 0.95
}
