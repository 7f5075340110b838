import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sleep } from '../faults/support.ts'
import { freePort, isListening } from './ports.ts'

/** A text of the documented file, and what stands in its place. */
export type Change = readonly [documented: string, instead: string]

/** What the documented file cannot know. */
export interface Place {
  /** Its own: configuration, certificate, whatever it writes. */
  readonly folder: string
  readonly port: number
  readonly tlsPort: number
  readonly upstreamPort: number
}

type Command = readonly [file: string, ...args: string[]]

/** What has to be known of a gateway to run it. */
export interface Kind {
  readonly name: 'nginx' | 'Caddy' | 'HAProxy'
  /** The documented configuration, in docs/gateways. */
  readonly file: string
  place(place: Place): readonly Change[]
  version: Command
  check(folder: string): Command
  /** Stays in the foreground, so that it is a child of ours and its pid is known. */
  run(folder: string): Command
  /** A signal, or a command that is over when the new configuration is in force. */
  reload(folder: string): NodeJS.Signals | Command
  readonly stopSignal: NodeJS.Signals
}

const START_LIMIT_MS = 20_000

const local = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const run = promisify(execFile)

// Debian keeps daemons where only root looks for commands.
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }

export function isInstalled({ version: [file, ...args] }: Kind): boolean {
  try {
    execFileSync(file, args, { env: ENV, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const running = new Set<Gateway>()
// When the test run is broken off, no gateway is left behind.
process.once('exit', () => {
  for (const gateway of running) gateway.kill()
})

/** A gateway in a process of its own, with the documented configuration or one that differs from it in a few lines. */
export class Gateway {
  readonly #kind: Kind
  #changes: readonly Change[]
  #place: Place
  #child: ChildProcess | undefined
  #output = ''

  private constructor(kind: Kind, upstreamPort: number, changes: readonly Change[]) {
    const folder = mkdtempSync(join(tmpdir(), `resilient-sse-${kind.name}-`))
    for (const part of ['cert', 'key'])
      copyFileSync(local(`../fixtures/private-ca-localhost.${part}.pem`), join(folder, `${part}.pem`))
    this.#kind = kind
    this.#place = { folder, port: 0, tlsPort: 0, upstreamPort }
    this.#changes = changes
  }

  static async start(kind: Kind, upstreamPort: number, changes: readonly Change[] = []): Promise<Gateway> {
    const gateway = new Gateway(kind, upstreamPort, changes)
    running.add(gateway)
    try {
      while (!(await gateway.#start()));
      return gateway
    } catch (error) {
      await gateway[Symbol.asyncDispose]()
      throw error
    }
  }

  get url(): string {
    return `http://localhost:${this.#place.port}/events`
  }

  get tlsUrl(): string {
    return `https://localhost:${this.#place.tlsPort}/events`
  }

  /** Reads its configuration again, with another upstream or other lines. */
  async reload({ upstreamPort = this.#place.upstreamPort, changes = this.#changes } = {}): Promise<void> {
    this.#place = { ...this.#place, upstreamPort }
    this.#changes = changes
    await this.#configure()
    const how = this.#kind.reload(this.#place.folder)
    if (typeof how === 'string') this.#child?.kill(how)
    else await this.#call(how)
  }

  kill(): void {
    this.#child?.kill(this.#kind.stopSignal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child
    if (child !== undefined && isAlive(child)) {
      const gone = once(child, 'exit')
      this.kill()
      await gone
    }
    running.delete(this)
    rmSync(this.#place.folder, { recursive: true, force: true })
  }

  /** `false`: somebody else took the port in the last moment. */
  async #start(): Promise<boolean> {
    const [port, tlsPort] = [await freePort(), await freePort()]
    this.#place = { ...this.#place, port, tlsPort }
    await this.#configure()
    const [file, ...args] = this.#kind.run(this.#place.folder)
    const child = spawn(file, args, { env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', text => {
        this.#output += text
      })
    const end = performance.now() + START_LIMIT_MS
    while (!((await isListening(port)) && (await isListening(tlsPort)))) {
      if (!isAlive(child) && /address already in use|cannot bind/i.test(this.#output)) return false
      if (!isAlive(child) || performance.now() > end)
        throw new Error(`${this.#kind.name} does not listen:\n${this.#output}`)
      await sleep(50)
    }
    return true
  }

  /** Writes the configuration; the documented one has to pass the gateway's own check. */
  async #configure(): Promise<void> {
    const { folder } = this.#place
    let text = readFileSync(local(`../../docs/gateways/${this.#kind.file}`), 'utf8')
    for (const [documented, instead] of [...this.#changes, ...this.#kind.place(this.#place)]) {
      if (!text.includes(documented)) throw new Error(`${this.#kind.file} does not say: ${documented}`)
      text = text.replaceAll(documented, instead)
    }
    writeFileSync(join(folder, this.#kind.file), text)
    if (this.#changes.length === 0) await this.#call(this.#kind.check(folder))
  }

  async #call([file, ...args]: Command): Promise<void> {
    await run(file, args, { env: this.#env })
  }

  /** Whatever it keeps for itself is kept in its folder. */
  get #env(): NodeJS.ProcessEnv {
    const { folder } = this.#place
    return { ...ENV, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  }
}

const isAlive = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null
