import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle, bundleSources, scratchFolder } from './bundle.mjs'
import { work } from './workers.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PATCHES = fileURLToPath(new URL('./mutants', import.meta.url))
/** Within so many schedules each mutant has to be caught. */
const RUNS = 2_000

/** The patches, each with what it breaks, which is its first line. */
export function mutants() {
  const files = readdirSync(PATCHES).filter(name => name.endsWith('.patch'))
  return files.sort().map(file => {
    const text = readFileSync(join(PATCHES, file), 'utf8')
    return { name: file.replace(/\.patch$/, ''), file: join(PATCHES, file), breaks: text.split('\n', 1)[0] }
  })
}

/** A copy of src/ with the patch applied. */
function plant({ name, file }, folder) {
  const copy = join(folder, name, 'src')
  cpSync(join(ROOT, 'src'), copy, { recursive: true })
  try {
    execFileSync('git', ['apply', file], { cwd: join(folder, name), stdio: 'pipe' })
  } catch (error) {
    throw new Error(`${name}.patch no longer applies to src/: make it again\n${error.stderr}`)
  }
  return copy
}

/** Whether all patches fit the sources of today. Returns an exit code. */
export async function checkMutants() {
  const folder = scratchFolder()
  const all = mutants()
  await Promise.all(all.map(mutant => bundleSources(plant(mutant, folder))))
  console.log(`${all.length} mutants apply and bundle`)
  return 0
}

/** Runs the named mutants, or all. Returns an exit code. */
export async function runMutants(names, workers) {
  const folder = scratchFolder()
  const all = mutants()
  const unknown = names.filter(name => !all.some(mutant => mutant.name === name))
  if (unknown.length > 0) throw new Error(`--mutants: there is no ${unknown.join(', ')}`)
  const chosen = all.filter(({ name }) => names.length === 0 || names.includes(name))
  const startedAt = Date.now()
  const bundled = []
  for (const mutant of chosen) {
    const file = await bundle(join(folder, `${mutant.name}.mjs`), plant(mutant, folder))
    bundled.push({ ...mutant, bundle: file })
  }
  const queue = [...bundled]
  const rows = new Map()
  const lane = async () => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const { failure } = await work(mutant.bundle, { runs: RUNS, seed: 1, shrink: false })
      const law = failure?.violations[0]?.law
      rows.set(mutant.name, {
        'caught after': failure?.runs ?? 'NOT CAUGHT',
        law: law ?? '',
        breaks: mutant.breaks,
      })
    }
  }
  await Promise.all(Array.from({ length: workers }, lane))
  console.table(Object.fromEntries([...rows].sort(([one], [other]) => (one < other ? -1 : 1))))
  const missed = [...rows].filter(([, row]) => row.law === '').map(([name]) => name)
  console.log(
    `${rows.size - missed.length} of ${rows.size} mutants caught, ${Math.round((Date.now() - startedAt) / 1_000)} s`,
  )
  if (missed.length > 0) console.log(`not caught: ${missed.join(', ')}`)
  return missed.length > 0 ? 1 : 0
}
