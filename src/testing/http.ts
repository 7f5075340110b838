import { Buffer } from 'node:buffer'
import { STATUS_CODES } from 'node:http'

/** Header fields of an answer; an array repeats the field, `null` removes one that the server would send. */
export type HeaderFields = Record<string, string | readonly string[] | null>

export interface ParsedRequest {
  method: string
  url: string
  httpVersion: '1.0' | '1.1'
  headers: Record<string, string>
  rawHeaders: string[]
  body: string
}

// Ids of 20,000 characters travel in a header, several times over when they are encoded; real servers stop at 8 or
// 16 KiB, and a test that wants that answers 431.
const MAX_HEAD_BYTES = 1024 * 1024

/**
 * Takes one request off the front of what a socket has received. `undefined` = not complete yet; throws when this is
 * not HTTP. Hand-written because node:http would answer 400 on its own and hides what was really on the wire.
 */
export function takeRequest(received: Buffer): { request: ParsedRequest; rest: Buffer } | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end === -1) {
    if (received.length > MAX_HEAD_BYTES) throw new Error('request head too long')
    return undefined
  }
  const [first = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n')
  const start = /^([!-~]+) (\S+) HTTP\/(1\.[01])$/.exec(first)
  if (start === null) throw new Error('not an HTTP/1 request')
  const headers: Record<string, string> = Object.create(null)
  const rawHeaders: string[] = []
  for (const line of lines) {
    const colon = line.indexOf(':')
    if (colon < 1) throw new Error('not a header line')
    const name = line.slice(0, colon)
    const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')
    rawHeaders.push(name, value)
    headers[name.toLowerCase()] = value
  }
  const rest = received.subarray(end + 4)
  const body = /chunked/i.test(headers['transfer-encoding'] ?? '')
    ? takeChunked(rest)
    : takeLength(rest, Number(headers['content-length'] ?? 0))
  if (body === undefined) return undefined
  const [, method = '', url = '', version] = start
  const httpVersion = version === '1.0' ? version : '1.1'
  return { request: { method, url, httpVersion, headers, rawHeaders, body: body.text }, rest: body.rest }
}

function takeLength(received: Buffer, length: number): { text: string; rest: Buffer } | undefined {
  if (!(length >= 0)) throw new Error('not a content-length')
  if (received.length < length) return undefined
  return { text: received.toString('utf8', 0, length), rest: received.subarray(length) }
}

function takeChunked(received: Buffer): { text: string; rest: Buffer } | undefined {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const eol = received.indexOf('\r\n', at)
    if (eol === -1) return undefined
    const size = Number.parseInt(received.toString('latin1', at, eol), 16)
    if (Number.isNaN(size)) throw new Error('not a chunk size')
    const next = eol + 2 + size + 2
    if (received.length < next) return undefined
    if (size === 0) return { text: Buffer.concat(parts).toString('utf8'), rest: received.subarray(next) }
    parts.push(received.subarray(eol + 2, eol + 2 + size))
    at = next
  }
}

/** The head of an answer. `own` wins over `defaults`, whatever the case of the names. */
export function responseHead(
  status: number,
  reason: string | undefined,
  defaults: Record<string, string>,
  own: HeaderFields = {},
): Buffer {
  const overridden = new Set(Object.keys(own).map(name => name.toLowerCase()))
  let head = `HTTP/1.1 ${status} ${reason ?? STATUS_CODES[status] ?? ''}\r\n`
  for (const [name, value] of Object.entries(defaults))
    if (!overridden.has(name.toLowerCase())) head += `${name}: ${value}\r\n`
  for (const [name, value] of Object.entries(own))
    for (const one of value === null ? [] : [value].flat()) head += `${name}: ${one}\r\n`
  return Buffer.from(`${head}\r\n`)
}
