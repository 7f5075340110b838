/** `node:diagnostics_channel` has no counterpart in a browser; `onLifecycle` tells the same. */
export function publish(): void {}
