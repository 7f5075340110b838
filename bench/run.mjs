// npm run bench: installs what only the benchmarks need, compiles them, and runs main.ts.
import { fileURLToPath } from 'node:url'
import { install } from '../test/install.mjs'
import { bundle } from './bundle.mjs'

install(fileURLToPath(new URL('.', import.meta.url)))
const { main } = await import(await bundle())
process.exitCode = await main(process.argv.slice(2))
