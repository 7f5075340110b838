/** They describe the body as it was sent, not as it is read. */
const OF_THE_BODY = ['content-length', 'content-encoding']

/** `answer` with another body. */
export function answerWith(body: ReadableStream<Uint8Array>, answer: Response): Response {
  const response = new Response(body, answer)
  for (const name of OF_THE_BODY) response.headers.delete(name)
  return identified(response, answer)
}

/** A Response that is made by hand, or is cloned from one, knows nothing of where it came from. */
function identified(response: Response, { url, redirected }: Response): Response {
  const clone = () => identified(Response.prototype.clone.call(response), response)
  return Object.defineProperties(response, {
    url: { value: url },
    redirected: { value: redirected },
    clone: { value: clone },
  })
}
