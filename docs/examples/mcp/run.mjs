// Runs the TypeScript of this folder on any Node: node run.mjs server|client|demo [flags].
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const path = relative => fileURLToPath(new URL(relative, import.meta.url))
const outfile = path('../../../.tmp/mcp-example.mjs')

await build({
  entryPoints: [path('main.ts')],
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  // The package as it stands in this repository; elsewhere it is installed.
  alias: {
    'resilient-sse/mcp': path('../../../src/adapters/mcp/index.ts'),
    'resilient-sse': path('../../../src/index.ts'),
  },
  outfile,
  logLevel: 'warning',
})

const child = spawn(process.execPath, [outfile, ...process.argv.slice(2)], { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', code => {
  process.exitCode = code ?? 1
})
