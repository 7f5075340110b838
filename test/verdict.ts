import { judgeResponse } from '../src/outcome.ts'

export const SECRET = 's3cret'
export const URL_WITH_SECRETS = new URL(`https://api.example.com/v1/events?token=${SECRET}`)

export function judged(status: number, headers: Record<string, string>, everOpened: boolean) {
  const body = [101, 204, 205, 304].includes(status) ? null : 'x'
  const response = new Response(body, { status: status === 101 ? 200 : status, headers })
  return judgeResponse(response, URL_WITH_SECRETS, everOpened)
}

/** What fetch throws: a TypeError around what really happened. */
export function fetchFailed(code: string | undefined): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error('inner'), { code }) })
}
