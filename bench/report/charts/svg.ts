import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'

const WIDTH = 860
const MARGIN = 16
const HEAD_HEIGHT = 62

/** Of middle lightness, so that they stand out from a light ground and from a dark one. */
export const COLOURS = {
  ours: '#3b82d6',
  oursToo: '#14a3a8',
  floor: '#8b929c',
  peer: '#d98532',
  good: '#3fa36b',
  poor: '#b7791f',
  bad: '#cf5148',
  worst: '#9a4a9c',
}

/** An image has no page around it: it brings its ground, for readers of both kinds. */
const STYLE = `
svg { color: #1f2328; font-family: system-ui, sans-serif; }
.ground { fill: #ffffff; }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3; } .ground { fill: #161b22; } }
`

/** Those of Plot.plot(). */
export type ChartOptions = Record<string, unknown> & { marginTop?: number }

/** A chart as a file. `title` is what it says to who cannot see it, too; `legend`: colours by name. */
export function svgOf(title: string, legend: Record<string, string>, options: ChartOptions): string {
  const { document } = parseHTML('<html><body></body></html>')
  const chart = Plot.plot({
    document,
    width: WIDTH,
    style: { fontSize: '13px', background: 'none' },
    ...options,
    marginTop: (options.marginTop ?? 10) + HEAD_HEIGHT,
  })
  const add = (name: string, attributes: Record<string, string | number>, text = '') => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name)
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value))
    element.textContent = text
    chart.append(element)
    return element
  }
  chart.prepend(add('rect', { class: 'ground', width: '100%', height: '100%' }))
  const label = { fill: 'currentColor', 'text-anchor': 'start' }
  add('style', {}, STYLE)
  add('text', { ...label, x: MARGIN, y: 26, 'font-size': 16, 'font-weight': 600 }, title)
  let x = MARGIN
  for (const [name, fill] of Object.entries(legend)) {
    add('rect', { x, y: 39, width: 12, height: 12, rx: 2, fill })
    add('text', { ...label, x: x + 18, y: 49.5 }, name)
    // No text is measured here: an average character is about this wide.
    x += 40 + name.length * 6.9
  }
  chart.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  chart.setAttribute('role', 'img')
  chart.setAttribute('aria-label', title)
  return `${chart.outerHTML}\n`
}
