// npm run test:eventsource [-- vitest arguments]
import { fileURLToPath } from 'node:url'
import { installAndTest } from '../run.mjs'

installAndTest(fileURLToPath(new URL('.', import.meta.url)))
