// The stream that the server sends and the clients are checked against.

/** 130 bytes an event, framing included, with a 36-character id like a UUID's. */
export function eventText(index) {
  const head = `id: ${idOf(index)}\ndata: `
  return `${head}${dataOf(index, 130 - head.length - 2)}\n\n`
}

function idOf(index) {
  return `0190b1c2-5d3e-7abc-8def-${index.toString(16).padStart(12, '0')}`
}

function dataOf(index, length) {
  const head = `{"n":${index},"text":"`
  return `${head.padEnd(length - 2, 'abcdefghij klmnopqrst uvwxyz')}"}`
}

/** What a client must have counted. */
export function summary(events) {
  const last = eventText(events - 1)
  const data = last.slice(last.indexOf('data: ') + 6, -2)
  return { count: events, chars: events * data.length, last: data }
}
