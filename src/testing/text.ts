import { Buffer } from 'node:buffer'

/** A small, fast, seedable generator (mulberry32): the same seed gives the same numbers in every process. */
export function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000
  }
}

/** Mixes a seed with an index, so that event 7 can be made without making events 0 to 6 first. */
export function mix(seed: number, index: number): number {
  let h = (seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

// One-, two-, three- and four-byte characters, and what parsers like to trip over: colons, field names, a BOM in the
// middle of a line, brackets and quotes.
const WORDS = [
  'data:',
  'id:',
  'event',
  'retry: 10',
  '{"price":12.5}',
  'café',
  'größe',
  '豆腐',
  'Привет',
  '🚂',
  '👩‍🔬',
  ':',
  '::',
  '\t',
  '\uFEFF',
  'lorem',
  'ipsum',
  '<b>&amp;</b>',
  "it's",
  'null',
  '\\n',
  '末',
]

const CORPUS_BYTES = 128 * 1024
const corpora = new Map<number, Buffer>()

function corpusOf(seed: number): Buffer {
  let corpus = corpora.get(seed)
  if (corpus === undefined) {
    const next = random(seed)
    let text = ''
    // A character has at least one byte: this many are always enough.
    while (text.length < CORPUS_BYTES) text += `${WORDS[Math.floor(next() * WORDS.length)]} `
    corpus = Buffer.from(text).subarray(0, CORPUS_BYTES)
    corpora.set(seed, corpus)
  }
  return corpus
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80

/**
 * UTF-8 text of exactly `bytes` bytes that depends on nothing but `seed` and `index`: it starts with the index (when
 * there is room), holds a multi-byte character from 16 bytes on, and one in four has several lines. It is cut from one
 * prepared block and stays bytes, because 10,000 events of 300 KB are made while they are sent: as a string and back
 * each would take 3 ms instead of 0.1.
 */
export function textOf(seed: number, index: number, bytes: number): Buffer {
  const next = random(mix(seed, index))
  const corpus = corpusOf(seed)
  const out = Buffer.allocUnsafe(bytes)
  const label = `${index} ${bytes >= 16 ? '豆 ' : ''}`
  let at = bytes >= 16 ? out.write(label) : out.write(label.slice(0, bytes), 'latin1')
  while (at < bytes) {
    let from = Math.floor(next() * corpus.length)
    while (isContinuation(corpus[from])) from++
    let to = Math.min(corpus.length, from + bytes - at)
    while (to > from && isContinuation(corpus[to])) to--
    // A piece of no length means that the next character does not fit: dots fill the rest.
    if (to === from && bytes - at < 4) break
    // The block may end inside a character; its last, unfinished one is not copied.
    if (to === corpus.length) to = lastWhole(corpus)
    if (to > from) at += corpus.copy(out, at, from, to)
  }
  out.fill('.', at)
  if (bytes >= 16 && next() < 0.25)
    breakLines(out, 1 + Math.floor(next() * 4), next, Buffer.byteLength(label))
  return out
}

function lastWhole(corpus: Buffer): number {
  let start = corpus.length - 1
  while (isContinuation(corpus[start])) start--
  const lead = corpus[start] ?? 0
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  return start + length <= corpus.length ? corpus.length : start
}

function breakLines(out: Buffer, count: number, next: () => number, after: number): void {
  for (let n = 0; n < count; n++) {
    const at = after + Math.floor(next() * (out.length - after))
    // Only a byte that is a character of its own may be replaced.
    if ((out[at] ?? 0x80) < 0x80) out[at] = 0x0a
  }
}
