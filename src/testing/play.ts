import { Buffer } from 'node:buffer'
import { isBetween } from './check.js'
import type { Connection } from './connection.js'
import { playEnd } from './endings.js'
import { encodeEvent } from './log.js'
import { Reply } from './reply.js'
import type { BetweenStep, BodyStep, ConnectionScript, EndStep, Step } from './steps.js'

/** What a script can do to the port of its server. */
export interface Gate {
  refuse(ms?: number): void
}

/** Words that are not a fault by themselves: what a healthy server says, and the way it says it. */
const HEALTHY: ReadonlySet<Step['do']> = new Set<Step['do']>([
  ...([
    'send',
    'rest',
    'follow',
    'stay',
    'event',
    'idOnly',
    'comment',
    'heartbeats',
    'raw',
    'rawBytes',
    'wait',
  ] as const),
  ...(['startAt', 'oneChunkPerEvent', 'lineEnding', 'headers', 'contentLength', 'closeDelimited'] as const),
])

/** Plays the script of one connection; true when its socket may carry another request. */
export async function play(
  script: ConnectionScript,
  connection: Connection,
  reply: Reply,
  gate: Gate,
): Promise<boolean> {
  let settled = false
  const strike = (step: Step, detail?: string) => {
    if (!HEALTHY.has(step.do))
      reply.ledger.struck(reply.record, step.do, detail ?? brief(step), reply.position)
  }
  // Before the last byte, the FIN or the RST: a client that redials at once must meet what the script says.
  const settle = () => {
    if (settled) return
    settled = true
    for (const step of script) if (isBetween(step.do)) playBetween(step as BetweenStep)
  }
  const playBetween = (step: BetweenStep) => {
    strike(step)
    if (step.do === 'refuse') gate.refuse(step.ms)
    else if (step.do === 'restart') reply.ledger.restart(reply.position)
    else reply.ledger.log.forget(step.count)
  }
  try {
    for (const step of script) {
      if (isBetween(step.do)) break
      if (isEnd(step)) return await playEnd(step, { connection, reply, settle, strike: () => strike(step) })
      strike(step)
      if (step.do === 'contentLength')
        reply.framing = { length: step.bytes ?? (await measure(script, reply)) }
      else {
        // Without an await where there is nothing to wait for: `fromNow()` means now, not a turn later.
        const playing = playStep(step, reply)
        if (playing !== undefined) await playing
      }
    }
    const end: EndStep = { do: 'end' }
    return await playEnd(end, { connection, reply, settle, strike: () => strike(end) })
  } finally {
    settle()
  }
}

const ENDS: ReadonlySet<string> = new Set<EndStep['do']>([
  ...(['end', 'cut', 'reset', 'cutInside', 'silence', 'stay'] as const),
  ...(['headersOnly', 'noHeaders', 'garbage', 'answer', 'redirect'] as const),
])

const isEnd = (step: Step): step is EndStep => ENDS.has(step.do)

type MiddleStep = Exclude<Step, EndStep | BetweenStep | { do: 'contentLength' }>

function playStep(step: Step, reply: Reply): Promise<void> | undefined {
  const middle = step as MiddleStep
  switch (middle.do) {
    case 'replay': {
      const back = middle.overlap === 'all' ? reply.position : middle.overlap
      reply.moveTo(reply.position - back)
      return undefined
    }
    case 'ignoreId':
      reply.moveTo(0)
      return undefined
    case 'fromNow':
      reply.moveTo(reply.ledger.log.length)
      return undefined
    case 'startAt':
      reply.moveTo(middle.index)
      return undefined
    case 'skip':
      reply.moveTo(reply.position + middle.count)
      return undefined
    case 'numberAnew':
      reply.numberAnew = true
      return undefined
    case 'dribble':
      reply.dribble = { bytes: middle.bytes, everyMs: middle.everyMs }
      return undefined
    case 'oneChunkPerEvent':
      reply.oneChunkPerEvent = true
      return undefined
    case 'lineEnding':
      reply.lineEnding = middle.ending
      return undefined
    case 'hold':
      return reply.wire.sleep(middle.ms)
    case 'headers':
      reply.headers = { ...reply.headers, ...middle.headers }
      return undefined
    case 'closeDelimited':
      reply.framing = 'close'
      return undefined
    default:
      return reply.open().then(() => playBody(middle, reply))
  }
}

function playBody(step: BodyStep, reply: Reply): Promise<void> {
  switch (step.do) {
    case 'send':
      return reply.events(step.count)
    case 'rest':
      return reply.rest()
    case 'follow':
      return reply.follow()
    case 'event':
      return reply.body(encodeEvent(step, reply.lineEnding), true)
    case 'idOnly':
      return reply.block(`id: ${step.id}`)
    case 'retry':
      return reply.block(`retry: ${step.ms}`)
    case 'comment':
      return reply.block(`: ${step.text}`)
    case 'heartbeats':
      return reply.heartbeats(step.everyMs, step.jitter ?? 0, step.count)
    case 'raw':
      return reply.text(step.text)
    case 'rawBytes':
      return reply.body(Buffer.from(step.bytes))
    case 'wait':
      return reply.wire.sleep(step.ms)
    case 'bigEvent':
      return reply.repeat(
        `${step.id === undefined ? '' : `id: ${step.id}${reply.lineEnding}`}data: `,
        'x',
        step.chars,
        reply.lineEnding + reply.lineEnding,
      )
    case 'endlessLine':
      return reply.repeat('data: ', 'x', step.maxBytes)
    case 'endlessData':
      return reply.repeat('', `data: ${'x'.repeat(1000)}${reply.lineEnding}`, step.maxBytes)
    case 'endlessComment':
      return reply.repeat(': ', 'x', step.maxBytes)
  }
}

/** How many bytes the script will send: it is rehearsed on a wire that only counts. */
async function measure(script: ConnectionScript, reply: Reply): Promise<number> {
  let length = 0
  const noTime = async () => {}
  const write = async (...parts: Buffer[]) => {
    for (const part of parts) length += part.length
  }
  const wire = { write, sleep: noTime, turn: noTime, until: noTime }
  const rehearsal = new Reply(wire, reply.ledger, reply.record, reply.keepAlive, true)
  rehearsal.framing = 'close'
  rehearsal.opened = true
  rehearsal.position = reply.position
  rehearsal.lineEnding = reply.lineEnding
  rehearsal.numberAnew = reply.numberAnew
  const rest = script.slice(script.findIndex(step => step.do === 'contentLength') + 1)
  for (const step of rest) {
    if (isEnd(step)) {
      if (step.do === 'cutInside') length += rehearsal.encodeNext()?.length ?? 0
      // What is still open or was cut must look unfinished.
      return step.do === 'end' ? length : length + 1
    }
    if (isBetween(step.do)) break
    await playStep(step, rehearsal)
  }
  return length
}

/** A step's arguments in a few characters, for a table. */
function brief(step: Step): string | undefined {
  const { do: _, ...fields } = step
  const values = Object.values(fields).filter(
    value => typeof value !== 'object' && typeof value !== 'boolean',
  )
  return values.length === 0 ? undefined : values.map(value => String(value).slice(0, 40)).join(' ')
}
