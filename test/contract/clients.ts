import type { Client } from './client.ts'
import { eventSource } from './event-source.ts'
import { resilientSse } from './resilient-sse.ts'

export function clientCalled(name: string): Client {
  const client = [resilientSse, eventSource].find(one => one.name === name)
  if (client === undefined) throw new Error(`no client ${name}`)
  return client
}
