import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
// The one that tsup brings along.
import { build } from 'esbuild'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const PACKAGE = new URL('../dist/', import.meta.url)

/** What is measured is the built package, as an application gets it. */
const builtPackage = {
  name: 'built-package',
  setup({ onResolve }) {
    onResolve({ filter: /^resilient-sse(\/|$)/ }, ({ path }) => {
      const entry = path === 'resilient-sse' ? 'index' : path.slice('resilient-sse/'.length)
      return { path: new URL(`${entry}.js`, PACKAGE).href, external: true }
    })
    // Plain modules of the repository find files by their own address, and stay where they are.
    onResolve({ filter: /^\..*\.mjs$/ }, ({ path, resolveDir }) => {
      return { path: pathToFileURL(join(resolveDir, path)).href, external: true }
    })
  },
}

/**
 * The benchmarks as JavaScript that every Node runs, in bench/dist: main.js, and one file for each `*.process.ts`, which
 * runs in a process of its own. No loader is left in those processes, so none is measured. What is
 * there already stays: another run may be using it.
 */
export async function bundle() {
  const outdir = join(HERE, 'dist')
  const files = readdirSync(HERE, { recursive: true }).filter(file => !file.startsWith('node_modules'))
  const processes = files.filter(file => file.endsWith('.process.ts'))
  await build({
    entryPoints: ['main.ts', ...processes].map(file => join(HERE, file)),
    outdir,
    outbase: HERE,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    plugins: [builtPackage],
    logLevel: 'error',
  })
  return pathToFileURL(join(outdir, 'main.js')).href
}
