// npm run bench [-- NAME]: installs the peers when they are missing, then runs the named cell, or all.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const here = fileURLToPath(new URL('.', import.meta.url))
const CELLS = ['throughput', 'recovery']

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '7' }, events: { type: 'string', default: '2000000' } },
})
for (const name of positionals.length > 0 ? positionals : CELLS) {
  if (!CELLS.includes(name)) {
    console.error(`bench: no cell ${name}; there is ${CELLS.join(', ')}`)
    process.exit(2)
  }
}
if (!existsSync(`${here}node_modules`)) {
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: here, stdio: 'inherit' })
  if (npm.status !== 0) process.exit(npm.status ?? 1)
}
let failed = false
for (const name of positionals.length > 0 ? positionals : CELLS) {
  const { run } = await import(`./${name}/run.mjs`)
  failed = !(await run({ rounds: Number(values.rounds), events: Number(values.events) })) || failed
}
process.exit(failed ? 1 : 0)
