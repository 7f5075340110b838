import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { readChunks } from './reader.ts'
import { type Reading, referenceReading } from './reference.ts'
import { chunksOf, sample } from './samples.ts'

/** How often the samples held what the comparison is about: without it a run proves little. */
export type Coverage = typeof NO_COVERAGE

const NO_COVERAGE = {
  events: 0,
  idOnlyBlocks: 0,
  inheritedIds: 0,
  emptiedIds: 0,
  types: 0,
  comments: 0,
  commentsBehindEvents: 0,
  retries: 0,
  replaced: 0,
  noEvents: 0,
}

export const noCoverage = (): Coverage => ({ ...NO_COVERAGE })

function cover(coverage: Coverage, { events, comments, retries, cursor }: Reading): void {
  coverage.events += events.length
  if (events.length === 0) coverage.noEvents++
  if (cursor !== undefined && cursor !== (events.at(-1)?.lastEventId ?? '')) coverage.idOnlyBlocks++
  coverage.inheritedIds += events.filter(
    ({ id, lastEventId }) => id === undefined && lastEventId !== '',
  ).length
  coverage.emptiedIds += events.filter(({ id }) => id === '').length
  coverage.types += events.filter(({ type }) => type !== 'message').length
  coverage.comments += comments.length
  coverage.commentsBehindEvents += comments.filter(one => one.events > 0).length
  coverage.retries += retries.length
  if (events.some(({ data }) => data.includes('\ufffd'))) coverage.replaced++
}

export interface FuzzOptions {
  runs: number
  seed: number
  /** Of a failure before: goes straight to it. */
  path?: string | undefined
  coverage?: Coverage
}

/** What failed, in words that can be acted upon; `undefined`: nothing. */
export async function fuzz({
  runs,
  seed,
  path,
  coverage = noCoverage(),
}: FuzzOptions): Promise<string | undefined> {
  const sameReading = fc.asyncProperty(sample, async one => {
    const expected = referenceReading(one.bytes)
    cover(coverage, expected)
    return isDeepStrictEqual(await readChunks(chunksOf(one), one.perRead), expected)
  })
  const result = await fc.check(sameReading, { numRuns: runs, seed, ...(path !== undefined && { path }) })
  if (!result.failed) return undefined
  const [failing] = result.counterexample ?? []
  if (failing === undefined) return `no sample failed, yet the run did: ${result.errorInstance}`
  const chunks = chunksOf(failing)
  const ours = await readChunks(chunks, failing.perRead).catch(String)
  return [
    'The reader and the reference reader differ.',
    `chunks, as latin1, ${failing.perRead} per read: ${JSON.stringify(chunks.map(chunk => chunk.toString('latin1')))}`,
    `reader:    ${JSON.stringify(ours)}`,
    `reference: ${JSON.stringify(referenceReading(failing.bytes))}`,
    `replay:    npm run test:fuzz -- --seed ${result.seed} --path ${result.counterexamplePath}`,
  ].join('\n')
}
