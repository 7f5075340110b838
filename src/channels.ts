import { channel } from 'node:diagnostics_channel'
import type { LifecycleEvent, LifecycleType } from './lifecycle.ts'

const TYPES: readonly LifecycleType[] = [
  'dial',
  'open',
  'drop',
  'wait',
  'stall',
  'gap',
  'duplicate',
  'circuit',
  'cursor',
  'close',
]

// Created once: a channel object that nobody refers to may be collected together with its subscribers' effect.
const channels = new Map(TYPES.map(type => [type, channel(`resilient-sse:${type}`)]))

/** Publishes a lifecycle event of `stream` as `{ stream, event }`; costs one property read when nobody subscribed. */
export function publish(stream: object, event: LifecycleEvent): void {
  const target = channels.get(event.type)
  if (target?.hasSubscribers) target.publish({ stream, event })
}
