import type { ResilientSseOptions, SseEvent } from 'resilient-sse'
import { type Client, type EventSourceLike, follow, type Listener, type Settings } from './client.ts'
import { readThrough } from './floors.ts'

function optionsOf({ silenceMs, retryMs }: Settings, onTrouble?: () => void): ResilientSseOptions {
  return {
    ...(silenceMs !== undefined && { heartbeat: { timeoutMs: silenceMs }, openTimeoutMs: silenceMs }),
    ...(retryMs !== undefined && { backoff: { baseMs: retryMs } }),
    ...(onTrouble && {
      onLifecycle: ({ type }) => {
        if (type === 'drop') onTrouble()
      },
    }),
  }
}

/** With all five layers, as users get them. */
export const OURS: Client[] = [
  {
    name: 'resilient-sse',
    kind: 'ours',
    async open(url, listener, settings = {}) {
      const { ResilientSse } = await import('resilient-sse')
      const stream = new ResilientSse(url, optionsOf(settings, listener.onTrouble))
      const read = async () => {
        for await (const event of stream) listener.onEvent(event.data, event.id)
      }
      read().then(listener.onEnd, listener.onEnd)
      return () => void stream.close()
    },
  },
  {
    name: 'resilient-sse batches',
    kind: 'ours',
    async open(url, listener, settings = {}) {
      const { ResilientSse } = await import('resilient-sse')
      const stream = new ResilientSse(url, optionsOf(settings, listener.onTrouble))
      const read = async () => {
        for await (const batch of stream.batches()) readBatch(batch, listener)
      }
      read().then(listener.onEnd, listener.onEnd)
      return () => void stream.close()
    },
  },
  {
    name: 'resilient-sse/eventsource',
    kind: 'ours',
    async open(url, listener, settings = {}) {
      const { EventSource } = await import('resilient-sse/eventsource')
      return follow(new EventSource(url, optionsOf(settings)) as unknown as EventSourceLike, listener)
    },
  },
  {
    name: 'resilientFetch + decoder + parser',
    kind: 'ours',
    async open(url, listener) {
      const { resilientFetch } = await import('resilient-sse')
      return readThrough(resilientFetch(), url, listener)
    },
  },
]

function readBatch(batch: readonly SseEvent[], { onEvent }: Listener): void {
  for (const event of batch) onEvent(event.data, event.id)
}
