import type { HeaderFields } from './http.js'

/** Where the line of an event ends. */
export type LineEnding = '\n' | '\r\n' | '\r'

/**
 * One step of a connection's script: plain data, so that a script can be kept in a file or sent to another process.
 * The word functions (`send(20)`, `reset()` …) make them and say what each one does.
 */
export type Step = PositionStep | SettingStep | HeadStep | BodyStep | EndStep | BetweenStep

/** What happens on one connection, from its request to its end. */
export type ConnectionScript = readonly Step[]

/** Words that choose which event comes next. */
export type PositionStep =
  | { do: 'replay'; overlap: number | 'all' }
  | { do: 'ignoreId' }
  | { do: 'fromNow' }
  | { do: 'startAt'; index: number }
  | { do: 'skip'; count: number }
  | { do: 'numberAnew' }

/** Words that change how everything after them is written. */
export type SettingStep =
  | { do: 'dribble'; bytes: number; everyMs: number }
  | { do: 'oneChunkPerEvent' }
  | { do: 'lineEnding'; ending: LineEnding }

/** Words that must stand before the first byte of the answer. */
export type HeadStep =
  | { do: 'hold'; ms: number }
  | { do: 'headers'; headers: HeaderFields }
  | { do: 'closeDelimited' }
  | { do: 'contentLength'; bytes?: number }

/** Words that send the headers, if that has not happened, and then something of the body. */
export type BodyStep =
  | { do: 'send'; count: number }
  | { do: 'rest' }
  | { do: 'follow' }
  | { do: 'event'; data: string; id?: string; event?: string }
  | { do: 'idOnly'; id: string }
  | { do: 'retry'; ms: string }
  | { do: 'comment'; text: string }
  | { do: 'heartbeats'; everyMs: number; jitter?: number; count?: number }
  | { do: 'raw'; text: string }
  | { do: 'rawBytes'; bytes: readonly number[] }
  | { do: 'wait'; ms: number }
  | { do: 'bigEvent'; chars: number; id?: string }
  | { do: 'endlessLine'; maxBytes: number }
  | { do: 'endlessData'; maxBytes: number }
  | { do: 'endlessComment'; maxBytes: number }

/** Words after which nothing can be sent any more. */
export type EndStep =
  | { do: 'end' }
  | { do: 'cut' }
  | { do: 'reset'; flushed: boolean }
  | { do: 'cutInside'; where: 'event' | 'character' | 'crlf'; by: 'fin' | 'rst' }
  | { do: 'silence' }
  | { do: 'stay' }
  | { do: 'headersOnly' }
  | { do: 'noHeaders' }
  | { do: 'garbage' }
  | { do: 'answer'; status: number; headers?: HeaderFields; body?: string; reason?: string }
  | { do: 'redirect'; location?: string; status: number }

/** Words for what happens between this connection and the next one; they stand at the end of a script. */
export type BetweenStep = { do: 'refuse'; ms?: number } | { do: 'restart' } | { do: 'forget'; count: number }

/** The name of a word. */
export type StepName = Step['do']
