import type { Decoder } from './decode.ts'

/** As on Node, without its short cut for ASCII, which a browser's decoder does not need; so it sees the BOM itself. */
export function createDecoder(): Decoder {
  const decoder = new TextDecoder()
  return { decode: bytes => decoder.decode(bytes, { stream: true }) }
}
