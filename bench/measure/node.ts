import { execFileSync } from 'node:child_process'
import { nodeBinary } from '../../test/package/node-binary.mjs'

/** The newest Node that is supported, as its binary in the npm package of that name. */
export const NEWEST = '26'

export function newest(): { execPath: string; version: string } {
  const execPath = nodeBinary(NEWEST)
  return { execPath, version: execFileSync(execPath, ['--version'], { encoding: 'utf8' }).trim().slice(1) }
}
