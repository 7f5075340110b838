import type { Client } from './client.ts'
import { BARE_HTTP, FLOOR } from './floors.ts'
import { OURS } from './ours.ts'
import { PEERS } from './peers.ts'

export const CLIENTS: Client[] = [...OURS, ...PEERS, FLOOR, BARE_HTTP]

export function clientOf(name: string): Client {
  const client = CLIENTS.find(one => one.name === name)
  if (client === undefined) throw new Error(`no client ${name}`)
  return client
}
