import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Benchmarks } from '../measure/store.ts'
import { charts } from './charts/charts.ts'
import { CHART_DATA } from './charts/data.ts'
import { stamped } from './charts/stamp.ts'
import { pageOf } from './page.ts'
import { withFigures } from './readme.ts'

// From bench/dist.
const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Page, charts and the README's figures, from what was measured. */
export function report(benchmarks: Benchmarks): void {
  writeFileSync(at('docs/benchmarks.md'), pageOf(benchmarks))
  writeFileSync(at('README.md'), withFigures(readFileSync(at('README.md'), 'utf8'), benchmarks))
  mkdirSync(at('docs/images'), { recursive: true })
  for (const [name, svg] of Object.entries(charts(benchmarks))) {
    const data = CHART_DATA[name as keyof typeof CHART_DATA](benchmarks)
    writeFileSync(at(`docs/images/${name}.svg`), stamped(svg, data))
  }
}
