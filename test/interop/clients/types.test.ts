import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test('resilientFetch has the type that each client wants for its fetch', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const config = fileURLToPath(new URL('tsconfig.json', import.meta.url))
  const args = [`${root}/node_modules/typescript/bin/tsc`, '--noEmit', '-p', config]
  const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stdout).toBe('')
  expect(status).toBe(0)
})
