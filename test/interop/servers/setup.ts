import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { transform } from 'esbuild'
import { EXAMPLES, WORK } from './server.ts'

/** Copies the examples to where the frameworks are installed, as a reader copies them to an application. */
export default async function setup(): Promise<void> {
  rmSync(WORK, { recursive: true, force: true })
  mkdirSync(WORK, { recursive: true })
  cpSync(EXAMPLES, `${WORK}/examples`, { recursive: true })
  const nest = await transform(readFileSync(`${EXAMPLES}/nestjs.ts`, 'utf8'), {
    loader: 'ts',
    format: 'esm',
    target: 'node20',
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
  })
  writeFileSync(`${WORK}/examples/nestjs.mjs`, nest.code)
}
