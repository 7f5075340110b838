import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const path = (relative: string) => fileURLToPath(new URL(`../../${relative}`, import.meta.url))

/** The example server as a file that Node runs, so that the process that is killed is the server itself. */
export async function bundleServer(): Promise<string> {
  const outfile = path(`.tmp/mcp-server-${process.pid}.mjs`)
  await build({
    entryPoints: [path('docs/examples/mcp/main.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // With the SDK in it, since it starts in half the time; a part of that is CommonJS.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)",
    },
    alias: {
      'resilient-sse/mcp': path('src/adapters/mcp/index.ts'),
      'resilient-sse': path('src/index.ts'),
    },
    outfile,
  })
  return outfile
}

export class ServerProcess {
  readonly #child: ChildProcess
  /** What it said on stderr. */
  errors = ''
  url = ''

  private constructor(bundle: string, args: readonly string[]) {
    this.#child = spawn(process.execPath, [bundle, 'server', ...args])
    this.#child.stderr?.on('data', chunk => {
      this.errors += chunk
    })
  }

  /** Resolves when it listens, and rejects with what it said when it ends instead. */
  static async start(bundle: string, ...args: string[]): Promise<ServerProcess> {
    const server = new ServerProcess(bundle, args)
    let said = ''
    await new Promise<void>((resolve, reject) => {
      server.#child.stdout?.on('data', chunk => {
        said += chunk
        server.url = /listening on (\S+)\n/.exec(said)?.[1] ?? ''
        if (server.url !== '') resolve()
      })
      server.#child.once('close', () => reject(new Error(server.errors)))
    })
    return server
  }

  get pid(): number {
    return this.#child.pid as number
  }

  /** Resolves when it is gone. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.kill(signal)
    await exit
  }
}
