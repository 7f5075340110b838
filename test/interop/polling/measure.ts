import { connect, type Line, sleep, type TestClient, until, wrapped } from '../mcp/clients.ts'
import { Door } from './door.ts'
import type { Gateway } from './gateway.ts'
import type { PollingServer, StartServer } from './servers.ts'

/** What came of one polling. Legs and POSTs are counted at the server's door. */
export interface Figures {
  /** How often the server closed the stream. */
  closed: number
  /** Connections that carried it. */
  legs: number
  /** Notifications that the server sent on it. */
  sent: number
  lost: number
  doubled: number
  /** What was heard, and what should have been. */
  heard: unknown[]
  expected: unknown[]
  /** What `onerror` was told. */
  errors: Error[]
  /** Of a call: how often it was POSTed, which is how often it may have been carried out, and what it was answered with. */
  call?: { posts: number; answer: string; expected: string }
}

export type Polling = (line: Line, start: StartServer, gateway: Gateway) => Promise<Figures>

/** Waits are longer than it takes a server to notice that a client has gone. */
const BACKOFF = { baseMs: 100, maxMs: 200, jitter: 0.25 }

interface Setup {
  server: PollingServer
  door: Door
  client: TestClient
}

/** A server, its door and a client whose standalone stream is open. */
async function connected(line: Line, start: StartServer, gateway: Gateway): Promise<Setup & AsyncDisposable> {
  const server = await start()
  const door = await Door.open(server.url)
  const client = await connect(line, gateway.to(door.url), wrapped({ backoff: BACKOFF }))
  await until(() => door.streams().length > 0)
  return {
    server,
    door,
    client,
    [Symbol.asyncDispose]: async () => {
      await client.close()
      await door[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** The stream of a call, closed by the server at its checkpoints where it can do that. */
export const pollCall: Polling = async (line, start, gateway) => {
  await using setup = await connected(line, start, gateway)
  const { server, door, client } = setup
  const { tool, arguments: args, notifications } = server.call
  const progress: unknown[] = []
  const onprogress = (told: { progress: number }) => void progress.push(told.progress)
  const answer = await client
    .call(tool, { arguments: args, onprogress, timeout: 30_000 })
    .catch((error: Error) => error.message)
  const posts = door.posts(tool)
  // Only the call's own stream has had an event, so it alone is resumed.
  const resumes = door.streams().filter(({ lastEventId }) => lastEventId !== undefined)
  return {
    ...compared(client, [...client.logs, ...progress], notifications),
    closed: server.call.closed,
    legs: posts + resumes.length,
    call: { posts, answer, expected: server.call.answer },
  }
}

/** The standalone stream, closed by the server where it can do that, and cut by the gateway where there is one. */
export const pollStandalone: Polling = async (line, start, gateway) => {
  await using setup = await connected(line, start, gateway)
  const { server, door, client } = setup
  const heard = (number: number) => until(() => client.logs.length >= number)
  if ('talk' in server.standalone) {
    await server.standalone.talk(client)
    await heard(2)
    const legs = door.streams().length
    // The next leg: it must not bring them again.
    await sleep(3_000)
    // What it says is random.
    return { ...compared(client, client.logs, client.logs.slice(0, 2)), closed: 0, legs }
  }
  const { announce, announceWhileClosed } = server.standalone
  await announce(client, 'one')
  await heard(1)
  await announceWhileClosed(client, 'two')
  await heard(2)
  await announce(client, 'three')
  await heard(3)
  if (gateway.cuts) await until(() => door.streams()[1]?.over === true)
  await announce(client, 'four')
  await heard(4)
  const sent = ['one', 'two', 'three', 'four']
  return { ...compared(client, client.logs, sent), closed: 1, legs: door.streams().length }
}

function compared({ errors }: TestClient, heard: unknown[], expected: unknown[]) {
  const times = (list: unknown[], one: unknown) => list.filter(other => other === one).length
  let lost = 0
  let doubled = 0
  for (const one of new Set([...heard, ...expected])) {
    const surplus = times(heard, one) - times(expected, one)
    if (surplus > 0) doubled += surplus
    else lost -= surplus
  }
  return { sent: expected.length, lost, doubled, heard, expected, errors }
}
