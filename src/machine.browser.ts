const NONE: ReadonlySet<string> = new Set()

/** What the watchdog asks the machine about, as far as a browser tells. */
export const machine = {
  /** Most browsers stop `performance.now()` while the machine sleeps, and none has a clock that cannot be set. */
  uptimeMs(): number {
    return Date.now()
  },

  addresses(): ReadonlySet<string> {
    return NONE
  },

  /** The timers of a hidden page run once a minute, while its streams are read as ever. */
  throttledMs: 60_000,

  /** More than that: hiding a tab is no sleep. */
  frozenMs: 90_000,

  /** `online`, a page that was frozen, and one that comes back from the back/forward cache. A worker has `online` only. */
  onWake(callback: () => void): () => void {
    const targets = [
      [globalThis, 'online'],
      [globalThis, 'pageshow'],
      [globalThis.document, 'resume'],
    ] as const
    const onEvent = (event: Event) => {
      if (event.type !== 'pageshow' || (event as PageTransitionEvent).persisted) callback()
    }
    // Not every runtime that takes this build has events of its own.
    for (const [target, type] of targets) target?.addEventListener?.(type, onEvent)
    return () => {
      for (const [target, type] of targets) target?.removeEventListener?.(type, onEvent)
    }
  },

  allowListeners(): void {},

  /** What the network has brought already is read before; in a hidden page up to a minute later, which does no harm. */
  afterPoll(callback: () => void): void {
    setTimeout(callback)
  },
}
