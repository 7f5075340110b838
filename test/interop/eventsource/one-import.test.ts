import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import {
  answer,
  cutInside,
  eventLog,
  FaultServer,
  replay,
  reset,
  rest,
  retry,
  type Step,
  send,
  silence,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'

// The same application, once with the library that it was written for and once with its import changed, each in a
// process of its own against the same faults.

const COUNT = 40
const log = eventLog({ count: COUNT, seed: 9 })
const sent = Array.from({ length: COUNT }, (_, index) => log.at(index).data)

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const ours = pathToFileURL(path('../../../dist/eventsource.js')).href

/** Their own pace is a second and more; nobody should wait for that. */
const QUICK = retry('200')
const THE_REST = [rest(), stay()]

interface Fault {
  name: string
  script: Step[][]
  /** The cursors of our dials; ids are those of the tenth event. */
  dials: number
  /** What becomes of the original. */
  theirs: Partial<Record<App, { lost: number; doubled: number }>>
}

type App = 'eventsource' | 'event-source-polyfill'

const FAULTS: Fault[] = [
  {
    name: 'an event that is cut in half',
    script: [[QUICK, send(10), cutInside('event')], THE_REST],
    dials: 2,
    theirs: { eventsource: { lost: 0, doubled: 0 }, 'event-source-polyfill': { lost: 0, doubled: 10 } },
  },
  {
    name: 'a server that is restarted behind a gateway',
    script: [[QUICK, send(10), reset()], [answer(503)], [answer(502)], THE_REST],
    dials: 4,
    theirs: { eventsource: { lost: 30, doubled: 0 }, 'event-source-polyfill': { lost: 30, doubled: 0 } },
  },
  {
    name: 'a replay that overlaps by five',
    script: [
      [QUICK, send(10), reset()],
      [replay({ overlap: 5 }), ...THE_REST],
    ],
    dials: 2,
    theirs: { eventsource: { lost: 0, doubled: 5 }, 'event-source-polyfill': { lost: 0, doubled: 10 } },
  },
  {
    name: 'silence',
    script: [[QUICK, send(10), silence()], THE_REST],
    dials: 2,
    // Of the two only the polyfill has a limit on silence that an application can set.
    theirs: { 'event-source-polyfill': { lost: 0, doubled: 10 } },
  },
]

interface Outcome {
  lost: number
  doubled: number
  requests: { cursor: string | undefined; authorization: unknown }[]
}

async function run(module: string | undefined, script: Step[][], patienceMs = 25_000): Promise<Outcome> {
  await using server = await FaultServer.start({ log: { count: COUNT, seed: 9 }, script })
  const child = spawn(process.execPath, [String(module), server.url], { stdio: ['ignore', 'pipe', 'ignore'] })
  const received: string[] = []
  await new Promise<void>(resolve => {
    // An application that has heard nothing for so long hears nothing any more.
    let patience = setTimeout(resolve, 30_000)
    createInterface({ input: child.stdout }).on('line', line => {
      const data = JSON.parse(line)
      received.push(data)
      clearTimeout(patience)
      // Doubles would come at once.
      patience = setTimeout(resolve, data === sent.at(-1) ? 300 : patienceMs)
    })
  })
  child.kill()
  const distinct = new Set(received)
  return {
    lost: sent.filter(data => !distinct.has(data)).length,
    doubled: received.length - distinct.size,
    requests: server.requests.map(({ lastEventId, headers }) => ({
      cursor: lastEventId,
      authorization: headers.authorization,
    })),
  }
}

/** The application as a module of its own, its one import changed to this. */
function withImport(app: App, from: string, name: string): string {
  const source = readFileSync(path(`apps/${app}.mjs`), 'utf8')
  const file = path(`.tmp/${app}-${name}.mjs`)
  mkdirSync(path('.tmp'), { recursive: true })
  writeFileSync(file, source.replace(`from '${app}'`, `from '${from}'`))
  return file
}

const APPS: App[] = ['eventsource', 'event-source-polyfill']
const theirModule = new Map(APPS.map(app => [app, withImport(app, app, 'theirs')]))
const ourModule = new Map(APPS.map(app => [app, withImport(app, ours, 'ours')]))

const rows = FAULTS.flatMap(fault =>
  Object.entries(fault.theirs).map(([app, theirs]) => ({ ...fault, app: app as App, theirs })),
)

describe.concurrent('an application whose import was changed loses nothing and is told nothing twice:', () => {
  test.each(rows)('$app, $name', async ({ app, script, dials }) => {
    const { requests, ...counts } = await run(ourModule.get(app), script)
    expect(counts).toEqual({ lost: 0, doubled: 0 })
    expect(requests).toEqual(
      Array.from({ length: dials }, (_, index) => ({
        cursor: index === 0 ? undefined : log.idAt(9),
        authorization: 'Bearer mine',
      })),
    )
  })
})

describe.concurrent('with the import that it was written with:', () => {
  test.each(rows)(
    '$app, $name: lost $theirs.lost, doubled $theirs.doubled',
    async ({ app, script, theirs }) => {
      const { lost, doubled } = await run(theirModule.get(app), script, theirs.lost > 0 ? 5_000 : undefined)
      expect({ lost, doubled }).toEqual(theirs)
    },
  )
})
