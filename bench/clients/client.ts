/** What a benchmark wants to hear of a stream. */
export interface Listener {
  onEvent(data: string, id: string | undefined): void
  /** The connection was lost, or a dial failed, as far as the client lets one know. */
  onTrouble?(): void
  /** The client has given up. */
  onEnd?(): void
}

/** Quicker than the defaults where a benchmark breaks connections on purpose; for clients that have such options. */
export interface Settings {
  /** How long a connection may be silent. */
  silenceMs?: number
  /** The first wait before another dial. */
  retryMs?: number
}

/** Opens a stream; resolves when the library is loaded and has begun. The result closes it. */
export type Open = (url: string, listener: Listener, settings?: Settings) => Promise<() => void>

export interface Client {
  name: string
  open: Open
  /** In bench/node_modules, for its version. */
  package?: string
  kind: 'ours' | 'peer' | 'floor'
}

/** What all libraries with the interface of the HTML standard have in common. */
export interface EventSourceLike {
  onmessage: ((event: { data: string; lastEventId: string }) => void) | null
  onerror: (() => void) | null
  readyState: number
  close(): void
}

export function follow(source: EventSourceLike, { onEvent, onTrouble, onEnd }: Listener): () => void {
  source.onmessage = event => onEvent(event.data, event.lastEventId)
  source.onerror = () => {
    onTrouble?.()
    // Some tell first and close afterwards.
    setImmediate(() => {
      if (source.readyState === 2) onEnd?.()
    })
  }
  return () => source.close()
}

/** Peers are taken at the newest version that the running Node accepts. */
export const newestNode = Number(process.versions.node.split('.', 1)[0]) >= 22
