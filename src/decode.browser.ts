import type { Decoder } from './decode.ts'

/** As on Node, whose short cut for ASCII a browser's decoder does not need. */
export function createDecoder(): Decoder {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return { decode: bytes => decoder.decode(bytes, { stream: true }) }
}
