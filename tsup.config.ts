import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { defineConfig, type Options } from 'tsup'

const shared: Options = {
  target: 'node20',
  platform: 'node',
  sourcemap: true,
  // Published as one self-contained package: undici is the only thing an installation fetches.
  noExternal: ['p-retry', 'is-network-error'],
  external: ['undici'],
  esbuildOptions(options, { format }) {
    // Where CommonJS has __filename; tsup would leave the syntax of a module in it.
    if (format === 'cjs') options.define = { ...options.define, 'import.meta.url': 'undefined' }
  },
}

/** Beside `splitting`: without it tsup turns CommonJS into older JavaScript, with anonymous classes and a helper for each `?.`. */
const modernCommonJs = { treeshake: true }

/** The command runs on the built package itself, entry by entry, as an application does. */
const onBuiltEntries: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'built-entries',
  setup(build) {
    build.onResolve({ filter: /\/(index|testing\/index|stores\/file)\.ts$/ }, ({ path }) => {
      const [, entry = ''] = /^(?:\.\.\/)+(.+)\.ts$/.exec(path) ?? []
      return { path: `./${entry.replace('testing/index', 'testing')}.js`, external: true }
    })
  },
}

/** A file that has a twin for browsers gives way to it. */
const forBrowsers: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'browser-suffix',
  setup(build) {
    build.onResolve({ filter: /^\..*\.ts$/ }, ({ path, resolveDir }) => {
      const twin = resolve(resolveDir, path.replace(/\.ts$/, '.browser.ts'))
      return existsSync(twin) ? { path: twin } : undefined
    })
  },
}

/** Together, before any of them writes: the builds run side by side, and one must not sweep away the other's files. */
async function configs(): Promise<Options[]> {
  await rm('dist', { recursive: true, force: true })
  return builds
}

const builds: Options[] = [
  {
    ...shared,
    entry: {
      index: 'src/index.ts',
      eventsource: 'src/adapters/eventsource.ts',
      mcp: 'src/adapters/mcp/index.ts',
      testing: 'src/testing/index.ts',
      'stores/file': 'src/stores/file.ts',
    },
    format: ['esm', 'cjs'],
    dts: true,
    splitting: true,
    ...modernCommonJs,
  },
  {
    ...shared,
    entry: {
      'browser/index': 'src/index.browser.ts',
      'browser/eventsource': 'src/adapters/eventsource.ts',
      'browser/mcp': 'src/adapters/mcp/index.ts',
    },
    format: ['esm', 'cjs'],
    platform: 'browser',
    target: 'es2022',
    splitting: true,
    ...modernCommonJs,
    esbuildPlugins: [forBrowsers],
  },
  {
    ...shared,
    entry: { cli: 'src/cli/main.ts' },
    format: ['esm'],
    banner: { js: '#!/usr/bin/env node' },
    esbuildPlugins: [onBuiltEntries],
  },
]

export default defineConfig(configs)
