export function folder(...path: string[]): string
export function nodeBinary(version: string): string
