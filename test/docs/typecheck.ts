import { join } from 'node:path'
import ts from 'typescript'
import { type CodeBlock, ROOT } from './markdown.ts'

/** Checks code blocks, each as a module of its own, with the options of the repository's tsconfig. */
export function typecheck(blocks: readonly CodeBlock[]): string[] {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    ROOT,
  )
  const texts = new Map<string, CodeBlock>()
  for (const [index, block] of blocks.entries())
    texts.set(join(ROOT, 'test/docs', `block-${index}.${block.language === 'js' ? 'js' : 'ts'}`), block)

  const host = ts.createCompilerHost({ ...options, allowJs: true }, true)
  const { fileExists, readFile } = host
  // Without an import a block would be a script, and its names everybody's.
  const textOf = (file: string) => {
    const block = texts.get(file)
    return block && `${block.code}\nexport {}\n`
  }
  host.fileExists = file => texts.has(file) || fileExists(file)
  host.readFile = file => textOf(file) ?? readFile(file)
  const { getSourceFile } = host
  host.getSourceFile = (file, ...rest) => {
    const text = textOf(file)
    return text === undefined ? getSourceFile(file, ...rest) : ts.createSourceFile(file, text, rest[0], true)
  }
  const program = ts.createProgram(
    [...texts.keys(), join(ROOT, 'test/docs/ambient.d.ts')],
    { ...options, allowJs: true, checkJs: true },
    host,
  )
  return [...texts].flatMap(([file, block]) => {
    const source = program.getSourceFile(file)
    const problems = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    return problems.map(({ start = 0, messageText }) => {
      const line = block.line + (source?.getLineAndCharacterOfPosition(start).line ?? 0)
      return `${block.page}:${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
  })
}

/** Members of an interface of src, by reading it: `name` to the text of its type. */
export function membersOf(file: string, name: string): Map<string, string> {
  const path = join(ROOT, 'src', file)
  const source = ts.createSourceFile(path, ts.sys.readFile(path) ?? '', ts.ScriptTarget.Latest, true)
  const found = source.statements.find(
    (statement): statement is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  )
  if (found === undefined) throw new Error(`${file} has no interface ${name}`)
  return new Map(
    found.members
      .filter(ts.isPropertySignature)
      .map(member => [member.name.getText(source), member.type?.getText(source) ?? '']),
  )
}
