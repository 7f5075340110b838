export type Installed = { missing: string; program?: undefined } | { missing?: undefined; program: string }

export function installHarness(folder: string): Installed
export function runHarness(program: string, url: string): Promise<{ output: string; status: number | string }>
