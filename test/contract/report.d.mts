/** Names of tests, each with its groups: `linefeeds/LF separator/one chunk`. */
export interface Report {
  executed: string[]
  passed: string[]
  failed: string[]
  skipped: string[]
}

export function readReport(output: string): Report
export function complaints(report: Report, expected: number): string[]
