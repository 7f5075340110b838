import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server of `node:http` that answers each request with the next of `answers`, and with the last one from then on. */
export async function serve(
  ...answers: ((response: ServerResponse, request: IncomingMessage) => void)[]
): Promise<{ url: string; requests: IncomingMessage[]; sockets: () => number } & AsyncDisposable> {
  const requests: IncomingMessage[] = []
  let sockets = 0
  const server = createServer((request, response) => {
    requests.push(request)
    answers[Math.min(requests.length, answers.length) - 1]?.(response, request)
  })
  server.on('connection', socket => {
    sockets++
    socket.on('close', () => sockets--)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests,
    sockets: () => sockets,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** An event stream that begins with this text and stays open. */
export const stream = (text: string) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text)
}

/** The same, and then its end. */
export const finite = (text: string) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text)
}

export const status = (code: number) => (response: ServerResponse) => {
  response.writeHead(code).end()
}
