import { EventSource } from 'eventsource'

const source = new EventSource(process.argv[2], {
  fetch: (input, init) =>
    fetch(input, {
      ...init,
      headers: {
        ...init.headers,
        Authorization: 'Bearer mine',
      },
    }),
})
source.addEventListener('message', event => console.log(JSON.stringify(event.data)))

// A service has other things to do, which keep its process.
setInterval(() => {}, 60_000)
