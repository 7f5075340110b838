import pRetry from 'p-retry'

/** How long to wait is layer 4's decision alone. */
const NO_DELAYS = { retries: Number.POSITIVE_INFINITY, minTimeout: 0, factor: 1 } as const

/** Attempts until one succeeds. `afterFailure` resolves when it is time for the next, and throws what ends it. */
export function retry<Result>(
  attempt: () => Promise<Result>,
  afterFailure: (error: unknown) => Promise<void>,
): Promise<Result> {
  return pRetry(attempt, { ...NO_DELAYS, onFailedAttempt: ({ error }) => afterFailure(error) })
}
