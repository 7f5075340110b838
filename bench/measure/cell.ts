/** What a run of the benchmarks was asked for. */
export interface RunOptions {
  /** How often each client is measured; each cell has its own number by default. */
  rounds?: number
  /** A small part of the work, to see that a cell runs: its figures say nothing. */
  quick: boolean
}

/** One thing that is measured, for all clients in the same minutes. */
export interface Cell<Results = unknown> {
  /** `group` or `group/variant`. */
  name: string
  /** What it measures, for the table of contents. */
  title: string
  /** Part of `npm run bench` without `--full`. */
  byDefault: boolean
  /** Which Node its clients run on, if not the running one. */
  node?: 'newest'
  run(options: RunOptions): Promise<Results>
}

/** What docs/benchmarks.json keeps of a cell: raw rounds, and what they were measured with. */
export interface Saved<Results = unknown> {
  title: string
  date: string
  seconds: number
  /** Which Node the clients ran on. */
  node: string
  machine: string
  /** Of each package that took part. */
  versions: Record<string, string>
  /** Of the machine in the last minute before: other work disturbs. */
  load: number
  results: Results
}
