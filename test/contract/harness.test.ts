import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { installHarness, runHarness } from './harness.mjs'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'resilient-sse-harness-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** A program of this folder, in shell. */
function program(name: string, script: string): string {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

/** A `go` that answers like this. */
function standIn(answers: { version?: string; mod?: string; install?: string }): void {
  const { version = 'echo go version go1.26.8 linux/amd64', mod = 'true', install = 'true' } = answers
  program('go', `case $1 in version) ${version};; mod) ${mod};; install) ${install};; esac`)
  vi.stubEnv('PATH', `${folder}:/bin:/usr/bin`)
}

it('the harness is missing where there is no Go, or an old one', () => {
  vi.stubEnv('PATH', folder)
  expect(installHarness(folder)).toEqual({ missing: 'there is no Go' })
  standIn({ version: 'echo go version go1.20.14 linux/amd64' })
  expect(installHarness(folder)).toEqual({ missing: 'Go 1.20 is older than 1.21' })
})

it('the harness is missing where its module is refused, which is told without an address', () => {
  standIn({ mod: "echo 'go: x@1: reading https://user:secret@proxy.test/x: 403 Forbidden' >&2; exit 1" })
  const { missing } = installHarness(folder)
  expect(missing).toContain('cannot be fetched')
  expect(missing).toContain('403 Forbidden')
  expect(missing).not.toMatch(/secret|proxy\.test/)
})

it('a harness that was fetched and cannot be built is an error', () => {
  standIn({ install: 'echo broken >&2; exit 1' })
  expect(() => installHarness(folder)).toThrow('broken')
})

it('the harness is built from one commit into the folder', () => {
  standIn({ install: 'echo "$2" > "$GOBIN/sse-contract-tests"' })
  expect(installHarness(folder)).toEqual({ program: join(folder, 'sse-contract-tests') })
})

it('a run gives both outputs and the status, and tells the harness where to find the service', async () => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const harness = program('harness', 'echo "$@"; echo "FAILED TESTS (1):" >&2; exit 1')
  const { output, status } = await runHarness(harness, 'http://127.0.0.1:1')
  expect(output).toMatch(/--url http:\/\/127\.0\.0\.1:1 --host 127\.0\.0\.1 --port \d+/)
  expect(output).toContain('FAILED TESTS')
  expect(status).toBe(1)
})
