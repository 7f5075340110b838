/** How often the server gives a sign of life, and by which share that wavers. */
export const EVERY_MS = 1_500
export const WAVER = 0.5
/** Of the watchdog: twice the rhythm. */
export const PATIENCE_MS = 3_000
export const STREAMS = 500
