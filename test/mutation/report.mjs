// What a run of Stryker found, as Markdown that can be read and compared.

const NOTICED = ['Killed', 'Timeout']
const COUNTED = [...NOTICED, 'Survived', 'NoCoverage']
/** Characters of code that are shown on each side of a change. */
const AROUND = 40

/** The mutants of a mutation testing report (JSON), those that ran, in the order of the code. */
export function readMutants(json) {
  const { files } = JSON.parse(json)
  return Object.entries(files)
    .sort(([one], [other]) => one.localeCompare(other))
    .flatMap(([file, { source, mutants }]) => {
      const lines = source.split('\n')
      return mutants
        .filter(({ status }) => COUNTED.includes(status))
        .map(({ location: { start, end }, mutatorName, replacement, status }) => {
          const before = lines[start.line - 1].slice(0, start.column - 1)
          const after = lines[end.line - 1].slice(end.column - 1)
          const whole = lines.slice(start.line - 1, end.line).join('\n')
          return {
            file,
            line: start.line,
            column: start.column,
            mutator: mutatorName,
            ...difference(whole, before + replacement + after),
            status,
          }
        })
        .sort((one, other) => one.line - other.line || one.column - other.column)
    })
}

/** The noticed mutants, in per cent. */
export function scoreOf(mutants) {
  return (100 * count(mutants, ...NOTICED)) / mutants.length
}

/** `reasons`: the text of survivors.md, whose table has one line for each mutant that nothing can notice. */
export function report(mutants, reasons) {
  const files = [...new Set(mutants.map(({ file }) => file))]
  const explained = new Set(reasons.split('\n').map(rowKey))
  const survivors = mutants.filter(({ status }) => !NOTICED.includes(status))
  const isExplained = ({ file, code, replacement }) =>
    explained.has([file, inCell(code), inCell(replacement)].join(' | '))
  const section = (title, rows) =>
    rows.length === 0 ? [] : ['', `## ${title}`, '', ...rows.map(shownMutant)]
  return [
    '# Mutation report',
    '',
    'Written by `npm run test:mutation`. A mutant is the code with one change; the score counts those that a test noticed.',
    '',
    '| file | mutants | killed | timed out | survived | not reached | score |',
    '| --- | --: | --: | --: | --: | --: | --: |',
    ...files.map(file =>
      row(
        file,
        mutants.filter(mutant => mutant.file === file),
      ),
    ),
    row('all', mutants),
    ...section(
      'Survivors without a reason',
      survivors.filter(mutant => !isExplained(mutant)),
    ),
    ...section('Survivors with a reason in [survivors.md](survivors.md)', survivors.filter(isExplained)),
    '',
  ].join('\n')
}

/** File, code and replacement of a row of survivors.md. */
function rowKey(row) {
  const cells = row.split(/(?<!\\)\|/).map(cell => cell.trim())
  return cells.slice(1, 4).join(' | ')
}

function row(name, mutants) {
  const counts = COUNTED.map(status => count(mutants, status))
  return `| ${[name, mutants.length, ...counts, `${scoreOf(mutants).toFixed(1)} %`].join(' | ')} |`
}

function shownMutant({ file, line, mutator, code, replacement, status }) {
  const reached = status === 'NoCoverage' ? ' (not reached)' : ''
  return `- ${file}:${line} ${mutator}: ${asCode(code)} → ${asCode(replacement)}${reached}`
}

function count(mutants, ...statuses) {
  return mutants.filter(({ status }) => statuses.includes(status)).length
}

/** The code before and after the change, each on one line, shortened to what surrounds the change. */
function difference(before, after) {
  const [one, other] = [before, after].map(text => text.trim().replace(/\s+/g, ' '))
  const shortest = Math.min(one.length, other.length)
  let start = 0
  while (start < shortest && one[start] === other[start]) start++
  let end = 0
  while (end < shortest - start && one.at(-1 - end) === other.at(-1 - end)) end++
  const shown = text => {
    const head = start > AROUND ? `…${text.slice(start - AROUND, start)}` : text.slice(0, start)
    const tail = end > AROUND ? `${text.slice(-end, AROUND - end)}…` : text.slice(text.length - end)
    const middle = text.slice(start, text.length - end)
    return head + (middle.length > 2 * AROUND ? `${middle.slice(0, 2 * AROUND)}…` : middle) + tail
  }
  return { code: shown(one), replacement: shown(other) }
}

function asCode(code) {
  if (!code.includes('`')) return `\`${code}\``
  const space = /^`|`$/.test(code) ? ' ' : ''
  return `\`\`${space}${code}${space}\`\``
}

/** A `|` would end the cell of a table. */
function inCell(code) {
  return asCode(code).replaceAll('|', '\\|')
}
