import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Path from the root, with slashes. */
export const PAGES: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.md'))
    .map(file => `docs/${file.replaceAll('\\', '/')}`)
    .sort(),
]

/** The text of a page; columns of tables without their padding. */
export const read = (page: string): string =>
  readFileSync(join(ROOT, page), 'utf8').replace(/^\|.*$/gm, row => row.replace(/ +/g, ' '))

export interface CodeBlock {
  page: string
  /** Line of its first code line. */
  line: number
  language: string
  code: string
}

export function codeBlocks(page: string): CodeBlock[] {
  const blocks: CodeBlock[] = []
  let open: CodeBlock | undefined
  for (const [index, line] of read(page).split('\n').entries()) {
    const fence = /^\s*```(\w*)/.exec(line)
    if (fence === null) {
      if (open !== undefined) open.code += `${line}\n`
    } else if (open === undefined) {
      open = { page, line: index + 2, language: fence[1] ?? '', code: '' }
    } else {
      blocks.push(open)
      open = undefined
    }
  }
  if (open !== undefined) throw new Error(`${page}:${open.line}: the code block has no end`)
  return blocks
}

const withoutCode = (page: string) => read(page).replace(/^\s*```[\s\S]*?^\s*```/gm, '')

export interface Section {
  level: number
  /** As it is written, backticks included. */
  title: string
  /** What GitHub makes of the title. */
  anchor: string
  /** Up to the next heading of any level. */
  text: string
}

export function sections(page: string): Section[] {
  const [, ...parts] = withoutCode(page).split(/^(#{1,6} .+)$/m)
  const seen = new Map<string, number>()
  const found: Section[] = []
  for (let index = 0; index < parts.length; index += 2) {
    const [, hashes = '', title = ''] = /^(#+) (.+?)\s*$/.exec(parts[index] ?? '') ?? []
    const slug = title
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
      .replaceAll(' ', '-')
    const repeats = seen.get(slug) ?? 0
    seen.set(slug, repeats + 1)
    const anchor = repeats === 0 ? slug : `${slug}-${repeats}`
    found.push({ level: hashes.length, title, anchor, text: parts[index + 1] ?? '' })
  }
  return found
}

/** Targets of inline links. */
export function links(page: string): string[] {
  const text = withoutCode(page).replace(/`[^`\n]*`/g, 'code')
  return [...text.matchAll(/\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)/g)].map(
    ([, target]) => target as string,
  )
}
