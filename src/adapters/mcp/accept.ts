import { acceptsStream, type McpRequest } from './request.ts'

/** [RFC 9110] the media type, without parameters. */
export function isEventStream(headers: Headers): boolean {
  const type = headers.get('content-type')?.split(';', 1)[0]
  return type?.trim().toLowerCase() === 'text/event-stream'
}

/**
 * Whether an answer is a stream to be kept alive. Everything else is passed on as it is: OAuth, JSON, errors, redirects,
 * and 202, whose body nobody reads.
 */
export function isTakenOver(request: McpRequest, response: Response): boolean {
  return (
    response.ok &&
    response.status !== 202 &&
    response.body !== null &&
    isEventStream(response.headers) &&
    acceptsStream(request.headers)
  )
}
