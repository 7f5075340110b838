import { EventSourcePolyfill } from 'event-source-polyfill'

const source = new EventSourcePolyfill(process.argv[2], {
  headers: { Authorization: 'Bearer mine' },
  heartbeatTimeout: 1000,
})
source.onmessage = event => console.log(JSON.stringify(event.data))

// A service has other things to do, which keep its process.
setInterval(() => {}, 60_000)
