import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import type { Connection } from './connection.js'

// What the client's runtime has read but not handed on yet, a reset makes it throw away; it gets this long to do so.
const HANDOVER_MS = 30
// A client that reads slowly on purpose is not waited for much longer than a test would notice.
const PATIENCE_MS = 1000
const POLL_MS = 5

/**
 * Waits until the bytes written have reached the client, as far as that can be known: the kernel has taken them, and
 * on Linux its table of sockets says that none is under way, nor, on loopback, unread at the other end. A RST drops
 * what is still queued, so without this the position of a scripted reset would depend on the load of the machine.
 */
export async function delivered(connection: Connection): Promise<void> {
  await connection.flush()
  await arrived(connection.tcp, ms => connection.sleep(ms))
}

/** The same for what the kernel has taken; it waits with the `sleep` it is given. */
export async function arrived(
  { localPort = 0, remotePort = 0, remoteFamily }: Socket,
  sleep: (ms: number) => Promise<void>,
): Promise<void> {
  const table = remoteFamily === 'IPv6' ? '/proc/net/tcp6' : '/proc/net/tcp'
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; ) {
    const queued = await queuedBytes(table, localPort, remotePort)
    if (queued === 0) break
    await sleep(POLL_MS)
  }
  await sleep(HANDOVER_MS)
}

/** Unacknowledged bytes of a connection, and unread ones at its other end if that is on this machine. */
async function queuedBytes(table: string, local: number, remote: number): Promise<number> {
  // Other systems have no such table: there the pause alone must do.
  const text = await readFile(table, 'latin1').catch(() => '')
  const port = (value: number) => value.toString(16).toUpperCase().padStart(4, '0')
  let queued = 0
  for (const [, from, to, unacknowledged = '', unread = ''] of text.matchAll(
    /:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):([0-9A-F]{8})/g,
  )) {
    if (from === port(local) && to === port(remote)) queued += Number.parseInt(unacknowledged, 16)
    if (from === port(remote) && to === port(local)) queued += Number.parseInt(unread, 16)
  }
  return queued
}
