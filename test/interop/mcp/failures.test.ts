import { describe, expect, test } from 'vitest'
import { type ConnectOptions, connect, type Line, type TestClient, wrapped } from './clients.ts'
import { type Leg, McpFaultServer, type McpScript } from './fault-server.ts'

// What happens to a tool call when its stream fails: the SDK alone and with mcpFetch, side by side. A call that the SDK
// alone would leave to hang is given up after a second and a half here; its own timeout is 60 s.

const LINES: Line[] = ['v1', 'v2']
const HANGS_MS = 1_500

/** How a call ended. */
interface Outcome {
  result?: string
  code?: number
  data?: Record<string, unknown>
}

async function outcome(client: TestClient, tool: string, timeout: number): Promise<Outcome> {
  try {
    return { result: await client.call(tool, { timeout }) }
  } catch (error) {
    const { code, data } = error as { code: number; data?: Record<string, unknown> }
    return data === undefined ? { code } : { code, data }
  }
}

/** The same call against two servers with the same script. */
async function sideBySide(line: Line, script: McpScript, options: ConnectOptions = wrapped()) {
  const one = async (how: ConnectOptions, timeout: number) => {
    const server = await McpFaultServer.start(script)
    const client = await connect(line, server.url, how)
    const ended = await outcome(client, 'work', timeout)
    const resumes = server.requests.filter(({ headers }) => headers['last-event-id'] !== undefined)
    const posts = server.of('tools/call')
    await client.close()
    await server[Symbol.asyncDispose]()
    return { ended, logs: client.logs, errors: client.errors, posts, resumes, server }
  }
  const [bare, survivor] = await Promise.all([one({}, HANGS_MS), one(options, 20_000)])
  return { bare, survivor }
}

/** The SDKs' word for a call that ran into its timeout: v1 a number, v2 a name. */
const isTimeout = ({ code }: Outcome) => String(code) === '-32001' || String(code) === 'REQUEST_TIMEOUT'

const cursors = (seen: { headers: Record<string, unknown> }[]) =>
  seen.map(({ headers }) => headers['last-event-id'])

const done: Leg = out => out.log('two', 'work/2').result('done', 'work/3').end()

describe.each(LINES)('%s: a call whose stream', line => {
  test('is resumed on a leg that closes before any id keeps its cursor', async () => {
    const { bare, survivor } = await sideBySide(line, {
      tools: { work: [out => out.prime('work/1', 50).log('one').end(), out => out.end(), done] },
    })
    expect(isTimeout(bare.ended)).toBe(true)
    // The leg without an id has made it forget the cursor: what follows opens another stream.
    expect(cursors(bare.resumes)).toEqual(['work/1'])
    expect(survivor.ended).toEqual({ result: 'done' })
    expect(survivor.logs).toEqual(['one', 'two'])
    expect(cursors(survivor.resumes)).toEqual(['work/1', 'work/1'])
    expect([bare.posts.length, survivor.posts.length]).toEqual([1, 1])
    expect(survivor.errors).toEqual([])
  })

  test.each([404, 405, 409, 503])(
    'is answered %s to every resume is settled, not left to hang',
    async status => {
      const { bare, survivor } = await sideBySide(line, {
        tools: { work: [out => out.log('one', 'work/1').end(), out => out.answer(status)] },
      })
      expect(isTimeout(bare.ended)).toBe(true)
      const passing = status === 409 || status === 503
      expect(survivor.ended).toMatchObject({
        code: -32_000,
        data: {
          sent: 'unknown',
          reason: passing ? 'exhausted' : status === 404 ? 'session-lost' : 'not-resumable',
          lastEventId: 'work/1',
          attempts: passing ? 7 : 1,
          code: 'ERR_SSE_HTTP',
          status,
        },
      })
      expect(cursors(survivor.resumes)).toEqual(Array.from({ length: passing ? 7 : 1 }, () => 'work/1'))
      expect(survivor.posts).toHaveLength(1)
      expect(survivor.errors).toEqual([])
    },
  )

  test('is reset without ids is settled at once', async () => {
    const { bare, survivor } = await sideBySide(line, { tools: { work: [out => out.log('one').reset()] } })
    expect(isTimeout(bare.ended)).toBe(true)
    expect(survivor.ended).toMatchObject({
      code: -32_000,
      data: { sent: 'unknown', reason: 'no-cursor', lastEventId: null, attempts: 0 },
    })
    expect(survivor.resumes).toEqual([])
    expect(survivor.posts).toHaveLength(1)
    expect(survivor.errors).toEqual([])
  })

  test('is resumed by a server that replays too much tells each event once', async () => {
    const { bare, survivor } = await sideBySide(line, {
      tools: {
        work: [
          out => out.log('one', 'work/1').log('two', 'work/2').end(),
          out =>
            out
              .log('one', 'work/1')
              .log('two', 'work/2')
              .log('three', 'work/3')
              .result('done', 'work/4')
              .end(),
        ],
      },
    })
    expect(bare.ended).toEqual({ result: 'done' })
    expect(bare.logs).toEqual(['one', 'two', 'one', 'two', 'three'])
    expect(survivor.ended).toEqual({ result: 'done' })
    expect(survivor.logs).toEqual(['one', 'two', 'three'])
    expect(cursors(survivor.resumes)).toEqual(['work/2'])
  })

  test('is primed again with an id that it knows is resumed as if it had not been', async () => {
    const { survivor } = await sideBySide(line, {
      tools: {
        work: [
          out => out.prime('work/0').log('one', 'work/1').log('two', 'work/2').end(),
          out => out.prime('work/2').log('two', 'work/2').log('three', 'work/3').end(),
          out => out.prime('work/0').log('three', 'work/3').result('done', 'work/4').end(),
        ],
      },
    })
    expect(survivor.ended).toEqual({ result: 'done' })
    expect(survivor.logs).toEqual(['one', 'two', 'three'])
    expect(cursors(survivor.resumes)).toEqual(['work/2', 'work/3'])
  })

  test('moved on by a block of nothing but an id resumes after that id', async () => {
    const { bare, survivor } = await sideBySide(line, {
      tools: { work: [out => out.log('one', 'work/1').raw('id: work/1b\n\n').end(), done] },
    })
    // The reader of the SDKs does not see such a block.
    expect(cursors(bare.resumes)).toEqual(['work/1'])
    expect(cursors(survivor.resumes)).toEqual(['work/1b'])
    expect(survivor.ended).toEqual({ result: 'done' })
  })

  test('answered by a page in place of a resumed stream asks again', async () => {
    const page: Leg = out => out.answer(200, '<p>Sign in</p>', { 'content-type': 'text/html' })
    const { bare, survivor } = await sideBySide(line, {
      tools: { work: [out => out.log('one', 'work/1').end(), page, done] },
    })
    expect(isTimeout(bare.ended)).toBe(true)
    expect(survivor.ended).toEqual({ result: 'done' })
    expect(cursors(survivor.resumes)).toEqual(['work/1', 'work/1'])
  })

  test('goes silent after heartbeats is noticed', async () => {
    const { bare, survivor } = await sideBySide(
      line,
      { tools: { work: [out => void out.log('one', 'work/1').comment(), done] } },
      wrapped({ heartbeat: { timeoutMs: 300 } }),
    )
    expect(isTimeout(bare.ended)).toBe(true)
    expect(survivor.ended).toEqual({ result: 'done' })
    expect(survivor.logs).toEqual(['one', 'two'])
    expect(cursors(survivor.resumes)).toEqual(['work/1'])
  })
})
