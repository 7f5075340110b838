import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const CLI = fileURLToPath(new URL('./cli.mjs', import.meta.url))

// In processes of its own: time stands still in there, for the test runner, too.
test('2,000 random schedules of faults keep every law of delivery, and at least 95 % of them hold a fault', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, '--runs', '2000', '--seed', '1'], {
    encoding: 'utf8',
  })
  expect(status, stdout + stderr).toBe(0)
  expect(stdout).toContain('kept every law')
}, 120_000)
