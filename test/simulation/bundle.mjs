import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A folder of its own in the system's, gone when the process ends. */
export function scratchFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'resilient-sse-simulation-'))
  // undici is left outside the bundle, as in the package.
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * The simulation and the sources under test as one file that plain Node runs. esbuild is the one that tsup brings along.
 * `source`: a patched copy of src/ to take in place of it.
 */
export async function bundle(outfile, source = join(ROOT, 'src')) {
  const resolve = {
    name: 'sources-under-test',
    setup({ onResolve }) {
      onResolve({ filter: /^(\.\.\/)+src\// }, ({ path }) => ({
        path: join(source, path.replace(/^.*?src\//, '')),
      }))
    },
  }
  await build({
    entryPoints: [join(ROOT, 'test/simulation/main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['undici'],
    nodePaths: [join(ROOT, 'node_modules')],
    sourcemap: 'inline',
    plugins: [resolve],
    logLevel: 'error',
  })
  return outfile
}

/** Only whether these sources hold together; nothing is written. */
export async function bundleSources(source) {
  await build({
    entryPoints: [join(source, 'index.ts')],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    external: ['undici'],
    nodePaths: [join(ROOT, 'node_modules')],
    logLevel: 'error',
  })
}
