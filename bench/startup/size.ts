import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** Of a built entry with all chunks that it imports, dynamically or not, and nothing that npm installs beside it. */
export function sizeOf(file: string): { bytes: number; gzipBytes: number } {
  const texts = [...closure(file)].map(([, text]) => text)
  const all = Buffer.from(texts.join(''))
  return { bytes: all.length, gzipBytes: gzipSync(all).length }
}

function closure(file: string, found = new Map<string, string>()): Map<string, string> {
  if (found.has(file)) return found
  const text = readFileSync(file, 'utf8')
  found.set(file, text)
  for (const [, path] of text.matchAll(/(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g))
    closure(join(dirname(file), path as string), found)
  return found
}
