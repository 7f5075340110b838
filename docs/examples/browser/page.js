import { EventSource as ResilientEventSource } from './resilient-sse/browser/eventsource.js'

/** How many of the newest events are drawn. */
const DRAWN = 90
/** The server is never quiet for long: a stream that is so for this long is dead, whatever it says of itself. */
const SILENT_MS = 2_500

/** The newest event that either stream has seen; events are numbered from 1. */
let newest = 0

class Panel {
  #section
  #open
  #source
  #times = new Map()
  #doubled = 0
  #reconnects = -1
  #heardAt = 0

  constructor(id, open) {
    this.#section = document.getElementById(id)
    this.#section.append(document.getElementById('panel').content.cloneNode(true))
    this.#open = open
  }

  start() {
    this.#source?.close()
    this.#times.clear()
    this.#doubled = 0
    this.#reconnects = -1
    this.#heardAt = performance.now()
    this.#show('fault', 'none yet')
    this.#show('error', 'none yet')
    const source = this.#open()
    this.#source = source
    source.onopen = () => {
      this.#reconnects++
    }
    source.onmessage = ({ lastEventId }) => this.#received(Number(lastEventId))
    // The server says what it will do next; a fault does not.
    source.addEventListener('fault', ({ data }) => this.#show('fault', data))
    source.onerror = ({ message }) => this.#show('error', message ?? 'an error event that says nothing')
  }

  #received(number) {
    this.#heardAt = performance.now()
    newest = Math.max(newest, number)
    const times = (this.#times.get(number) ?? 0) + 1
    this.#times.set(number, times)
    if (times > 1) this.#doubled++
  }

  draw(first) {
    const silent = performance.now() - this.#heardAt > SILENT_MS
    const state = ['connecting', silent ? 'silent' : 'open', 'closed'][this.#source.readyState]
    this.#section.dataset.state = state
    this.#show('state', state === 'silent' ? 'open, but silent' : state)
    this.#show('received', this.#times.size)
    this.#show('missing', newest - first + 1 - this.#times.size)
    this.#show('doubled', this.#doubled)
    this.#show('reconnects', Math.max(0, this.#reconnects))
    const boxes = []
    for (let number = Math.max(first, newest - DRAWN + 1); number <= newest; number++) {
      const box = document.createElement('i')
      box.className = `box ${['never', 'once'][this.#times.get(number) ?? 0] ?? 'twice'}`
      boxes.push(box)
    }
    this.#section.querySelector('.events').replaceChildren(...boxes)
  }

  /** The first event that this panel has received. */
  get first() {
    return this.#times.keys().next().value ?? Number.POSITIVE_INFINITY
  }

  #show(name, value) {
    const output = this.#section.querySelector(`output[name=${name}]`)
    output.value = value
    output.parentElement.dataset.zero = String(value === 0)
  }
}

const panels = [
  new Panel('native', () => new EventSource('native')),
  new Panel(
    'ours',
    () => new ResilientEventSource('ours', { heartbeat: { timeoutMs: SILENT_MS }, openTimeoutMs: SILENT_MS }),
  ),
]

function start() {
  newest = 0
  for (const panel of panels) panel.start()
}

document.getElementById('again').onclick = start
start()
setInterval(() => {
  const first = Math.min(...panels.map(panel => panel.first))
  if (newest > 0) for (const panel of panels) panel.draw(first)
}, 100)
