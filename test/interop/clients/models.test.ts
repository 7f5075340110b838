import { resilientFetch, SseError } from 'resilient-sse'
import {
  answer,
  cutInside,
  end,
  FaultServer,
  headersOnly,
  hold,
  reset,
  type Step,
  send,
  silence,
} from 'resilient-sse/testing'
import { describe, test } from 'vitest'
import { MODEL_SDKS, type ModelSdk } from './models.ts'

const FETCHES = {
  bare: () => globalThis.fetch,
  wrapped: () => resilientFetch({ heartbeat: { timeoutMs: 400 }, openTimeoutMs: 100 }),
}

/** How an answer ended: `error` names the first code of this package on the way down the causes, or else the class. */
interface Outcome {
  words: string
  end: 'complete' | 'hangs' | `error ${string}`
  posts: number
}

function shownError(error: unknown): string {
  for (let link = error; link instanceof Error; link = link.cause)
    if (link instanceof SseError) return link.code
  return (error as Error).constructor.name
}

/** A stream that has told nothing for `patienceMs` hangs: many times what the watchdog takes. */
async function outcome(
  answer: AsyncIterable<string>,
  server: FaultServer,
  patienceMs = 4_000,
): Promise<Outcome> {
  let words = ''
  const read = async () => {
    for await (const word of answer) words += word
    return 'complete' as const
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  const patience = new Promise<'hangs'>(resolve => {
    timer = setTimeout(resolve, patienceMs, 'hangs')
  })
  const end = await Promise.race([
    read().catch((error: unknown) => `error ${shownError(error)}` as const),
    patience,
  ])
  clearTimeout(timer)
  return { words, end, posts: server.requests.length }
}

interface Row {
  /** What the server does, after which the next request would be answered in full. */
  fault: string
  script: (sdk: ModelSdk) => Step[][]
  words: string
  bare: RegExp
  wrapped: RegExp
  posts: number
  /** SDKs that send the request again by themselves, and are answered, and billed, twice. */
  sentAgain?: string[]
}

const BROKEN = /^error (TypeError|APICallError)$/

const ROWS: Row[] = [
  {
    fault: 'the stream falls silent',
    script: ({ begin }) => [[begin, silence()]],
    words: 'one two ',
    bare: /^hangs$/,
    wrapped: /^error ERR_SSE_HEARTBEAT$/,
    posts: 1,
  },
  {
    fault: 'the stream is silent from its headers on',
    script: () => [[headersOnly()]],
    words: '',
    bare: /^hangs$/,
    wrapped: /^error ERR_SSE_HEARTBEAT$/,
    posts: 1,
  },
  {
    fault: 'the stream is reset',
    script: ({ begin }) => [[begin, reset()]],
    words: 'one two ',
    bare: BROKEN,
    wrapped: /^error ERR_SSE_NETWORK$/,
    posts: 1,
  },
  {
    fault: 'the stream is reset right after its headers',
    script: () => [[send(0), reset()]],
    words: '',
    bare: BROKEN,
    wrapped: /^error ERR_SSE_NETWORK$/,
    posts: 1,
    sentAgain: ['@ai-sdk/openai'],
  },
  {
    fault: 'the stream is cut inside an event',
    script: ({ begin }) => [[begin, cutInside('event')]],
    words: 'one two ',
    bare: BROKEN,
    wrapped: /^error ERR_SSE_NETWORK$/,
    posts: 1,
  },
  {
    fault: 'the first byte takes longer than every limit of ours',
    script: ({ begin, finish }) => [[hold(1_500), begin, finish, end()]],
    words: 'one two three',
    bare: /^complete$/,
    wrapped: /^complete$/,
    posts: 1,
  },
  {
    fault: 'the request is answered 503, which the SDK takes as leave to ask again',
    script: () => [[answer(503, { headers: { 'retry-after-ms': '1' } })]],
    words: 'one two three',
    bare: /^complete$/,
    wrapped: /^complete$/,
    posts: 2,
  },
]

const COMPLETE: Omit<Row, 'fault' | 'script'> = {
  words: 'one two three',
  bare: /^complete$/,
  wrapped: /^complete$/,
  posts: 2,
}

describe.concurrent.each(MODEL_SDKS)('$name', sdk => {
  for (const row of ROWS) {
    for (const kind of ['bare', 'wrapped'] as const) {
      const isSentAgain = kind === 'bare' && row.sentAgain?.includes(sdk.name)
      const { words, posts, [kind]: ending } = isSentAgain ? COMPLETE : row
      test(`${kind}, when ${row.fault}: ${ending.source}, requests: ${posts}`, async ({ expect }) => {
        const whole = [sdk.begin, sdk.finish, end()]
        await using server = await FaultServer.start({ script: row.script(sdk), otherwise: whole })
        const answer = sdk.ask(FETCHES[kind](), new URL(server.url).origin)
        expect(await outcome(answer, server)).toEqual({ words, end: expect.stringMatching(ending), posts })
        expect(server.requests.map(({ method }) => method)).toEqual(Array(posts).fill('POST'))
      })
    }
  }
})
