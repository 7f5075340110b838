// npm run test:gateways [-- --long] [-- --write] [-- vitest arguments]: nginx, Caddy and HAProxy with the configurations of
// docs/gateways. --long: five minutes of events instead of one. --write: the tables of docs/gateways.md, made anew.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { install } from './install.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = `${root}docs/gateways.md`
const flags = process.argv.slice(2)
const isOn = name => flags.includes(name)

install(['nginx', 'caddy', 'haproxy'])

const measured = isOn('--write') ? mkdtempSync(join(tmpdir(), 'resilient-sse-gateways-')) : undefined
const { status, error } = spawnSync(
  process.execPath,
  [
    `${root}node_modules/vitest/vitest.mjs`,
    ...['run', '--config', 'test/gateways/vitest.config.ts'],
    ...flags.filter(flag => flag !== '--long' && flag !== '--write'),
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...(isOn('--long') && { GATEWAYS_LONG: '1' }),
      ...(measured && { GATEWAYS_WRITE: measured }),
    },
  },
)
if (error) console.error(error.message)
process.exitCode = status ?? 1

if (measured !== undefined && status === 0) {
  let text = readFileSync(page, 'utf8')
  for (const name of readdirSync(measured)) {
    const [before, , after] = text.split(
      new RegExp(`(?<=<!-- measured: ${name} -->)|(?=<!-- /measured: ${name} -->)`),
    )
    if (after === undefined) throw new Error(`docs/gateways.md has no place for the table ${name}`)
    text = `${before}\n${readFileSync(join(measured, name), 'utf8')}\n${after}`
  }
  writeFileSync(page, text)
}
if (measured !== undefined) rmSync(measured, { recursive: true, force: true })
