/** A Last-Event-ID as text: headers hold octets, one character each. */
export function idOfHeader(value: string | null): string | undefined {
  if (value === null) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(
      Uint8Array.from(value, char => char.charCodeAt(0)),
    )
  } catch {
    // Not UTF-8: whoever set it meant these very characters.
    return value
  }
}
