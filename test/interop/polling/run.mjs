// npm run test:interop [-- --write] [vitest arguments]: the pollings against other people's servers. --write puts the table into
// docs/mcp.md, which otherwise has to be what was measured. What is missing on this machine is said, and left out.
import { fileURLToPath } from 'node:url'
import { installAndTest } from '../run.mjs'
import { nginx, pythonSdk } from './machine.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const [v1, v2] = await Promise.all([pythonSdk('v1'), pythonSdk('v2')])
const found = { INTEROP_PYTHON_V1: v1, INTEROP_PYTHON_V2: v2, INTEROP_NGINX: nginx() }
for (const [name, command] of Object.entries(found)) if (command !== undefined) process.env[name] = command

const args = process.argv.slice(2).filter(arg => arg !== '--write')
if (args.length < process.argv.length - 2) process.env.INTEROP_WRITE = '1'
installAndTest(here, args)
