import { defineConfig, type Options } from 'tsup'

const shared: Options = {
  target: 'node20',
  platform: 'node',
  sourcemap: true,
  // Published as one self-contained package: undici is the only thing an installation fetches.
  noExternal: ['eventsource-parser', 'p-retry', 'is-network-error'],
  external: ['undici'],
}

export default defineConfig([
  {
    ...shared,
    entry: { index: 'src/index.ts', testing: 'src/testing/index.ts', 'stores/file': 'src/stores/file.ts' },
    format: ['esm', 'cjs'],
    dts: true,
    clean: true,
    splitting: true,
  },
])
