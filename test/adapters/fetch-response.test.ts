import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { keepaliveFetch, resilientFetch } from 'resilient-sse'
import { mcpFetch } from 'resilient-sse/mcp'
import { describe, expect, test } from 'vitest'
import { serve } from './server.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

describe.each([
  ['resilientFetch', resilientFetch()],
  ['keepaliveFetch', keepaliveFetch()],
  ['mcpFetch', mcpFetch()],
])('what %s answers is', (_, fetch) => {
  test("the platform's own Response, which clients ask for by instanceof", async () => {
    const headers = { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] }
    await using server = await serve(response => response.writeHead(400, 'No', headers).end('{"error":"a"}'))
    const response = await fetch(server.url, { method: 'POST', body: 'a=b' })
    expect(response).toBeInstanceOf(Response)
    const { status, statusText, url, type, ok } = response
    expect({ status, statusText, url, type, ok }).toEqual({
      status: 400,
      statusText: 'No',
      url: server.url,
      type: 'basic',
      ok: false,
    })
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(await response.clone().json()).toEqual({ error: 'a' })
    expect(await response.text()).toBe('{"error":"a"}')
  })

  test('whole, although garbage was collected before it was read', async () => {
    let end = () => {}
    await using server = await serve(response => {
      response.writeHead(200, { 'content-type': 'text/plain' }).write('first, ')
      end = () => response.end('last')
    })
    const response = await fetch(server.url)
    for (let round = 0; round < 5; round++) {
      collectGarbage()
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    end()
    expect(await response.text()).toBe('first, last')
  })
})
