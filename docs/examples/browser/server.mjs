// Two streams in a browser, the same faults for both: the browser's own EventSource and the one of resilient-sse.
//
//   npm run example:browser            in this repository; then open the address that it prints
//   node node_modules/resilient-sse/docs/examples/browser/server.mjs
import { readdirSync, readFileSync } from 'node:fs'
import {
  answer,
  comment,
  cutInside,
  event,
  eventLog,
  FaultServer,
  noHeaders,
  replay,
  reset,
  rest,
  retry,
  silence,
  wait,
} from 'resilient-sse/testing'

const EVENT_EVERY_MS = 250
const EVENTS_BETWEEN_FAULTS = 12

/** What happens to a connection, and what the next request is answered with. */
const FAULTS = [
  { name: 'a reset', last: [reset()] },
  { name: 'an event cut in half', last: [cutInside('event')] },
  { name: 'a reset, then a replay that overlaps by six', last: [reset()], first: [replay({ overlap: 6 })] },
  {
    name: "a reset, then a gateway's 502 page",
    last: [reset()],
    between: [answer(502, { body: '<h1>502' })],
  },
  { name: 'silence on an open connection', last: [silence()] },
  {
    name: '429 with Retry-After: 1',
    last: [reset()],
    between: [answer(429, { headers: { 'retry-after': '1' } })],
  },
  { name: 'a request that is never answered', last: [reset()], between: [noHeaders()] },
  {
    name: 'a login page with status 200',
    last: [reset()],
    between: [answer(200, { body: '<title>Sign in' })],
  },
]

/** A connection: all that was missed, then live for three seconds; then it says what comes, and that comes. */
const connection = ({ first = [] }, { name, last }) => [
  ...first,
  retry(500),
  ...Array.from({ length: EVENTS_BETWEEN_FAULTS }, () => [rest(), wait(EVENT_EVERY_MS)]).flat(),
  event({ event: 'fault', data: name }),
  // A browser forgets what it has not read when a connection breaks.
  comment(),
  wait(EVENT_EVERY_MS),
  ...last,
]

/** An hour of faults, round and round; `first` is for the connection that follows a fault. */
function script() {
  const connections = []
  let before = {}
  for (let round = 0; round < 150; round++) {
    for (const fault of FAULTS) {
      connections.push(connection(before, fault), ...(fault.between ?? []).map(step => [step]))
      before = fault
    }
  }
  return connections
}

const TYPES = { html: 'text/html', css: 'text/css', js: 'text/javascript' }

/** A path of the page, and the file that it is answered with. */
function route(path, url) {
  const type = TYPES[url.pathname.split('.').at(-1)]
  const headers = { 'content-type': `${type}; charset=utf-8` }
  return [path, [[answer(200, { headers, body: readFileSync(url, 'utf8') })]]]
}

const here = new URL('.', import.meta.url)
// The build for browsers: a module, and the chunks that it shares with others.
const dist = new URL('.', import.meta.resolve('resilient-sse'))
const built = readdirSync(dist, { recursive: true })
  .map(name => name.replaceAll('\\', '/'))
  .filter(name => /^(browser\/\w+|chunk-\w+)\.js$/.test(name))
const routes = Object.fromEntries([
  route('/', new URL('index.html', here)),
  ...['page.css', 'page.js'].map(name => route(`/${name}`, new URL(name, here))),
  ...built.map(name => route(`/resilient-sse/${name}`, new URL(name, dist))),
])

const server = await FaultServer.start({
  log: eventLog({ count: 0 }),
  port: Number(process.env.PORT ?? 0),
  path: '/',
  routes: { ...routes, '/native': script(), '/ours': script() },
})
let number = 0
setInterval(() => {
  number++
  server.push({ id: String(number), data: `event ${number}` })
}, EVENT_EVERY_MS)
console.log(`Open ${server.url} in a browser. Ctrl-C ends it.`)
