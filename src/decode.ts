import { isAscii } from 'node:buffer'

/** Turns the bytes of one connection into text. */
export interface Decoder {
  decode(bytes: Uint8Array): string
}

/**
 * A fresh one for each connection: half a character of a dead connection must not leak into the next.
 * [spec] "The UTF-8 decode algorithm strips one leading UTF-8 Byte Order Mark (BOM), if any." By hand, not by
 * TextDecoder, which takes the first bytes that it is given for the beginning: ASCII goes past it.
 */
export function createDecoder(): Decoder {
  /** Made when it is needed: it takes half a KiB, most of it outside of the heap, and few streams need it. */
  let decoder: TextDecoder | undefined
  /** Whether the decoder may hold the first bytes of a character. */
  let pending = false
  let atStart = true
  return {
    decode(bytes) {
      // On Node 20 a streaming TextDecoder takes 35 µs for 64 KiB of ASCII, this takes 2 µs; on 24 they are equal.
      if (!pending && isAscii(bytes)) {
        if (bytes.length > 0) atStart = false
        return asBuffer(bytes).toString('latin1')
      }
      // A chunk may be empty: then what was pending still is.
      pending = (bytes.at(-1) ?? 0x80) >= 0x80
      decoder ??= new TextDecoder('utf-8', { ignoreBOM: true })
      const text = decoder.decode(bytes, { stream: true })
      if (!atStart || text === '') return text
      atStart = false
      return text.startsWith('\ufeff') ? text.slice(1) : text
    },
  }
}

/** Nearly always it is one: a second would cost as much as the decoding of a small chunk. */
function asBuffer(bytes: Uint8Array): Buffer {
  if (bytes instanceof Buffer) return bytes
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
