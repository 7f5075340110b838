import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, isListening } from '../ports.ts'
import { Child } from './child.ts'

/** How a client reaches a server. */
export interface Gateway extends AsyncDisposable {
  name: string
  /** Whether it cuts streams that are quiet. */
  cuts: boolean
  to(server: URL): URL
}

export const NO_GATEWAY: Gateway = {
  name: 'none',
  cuts: false,
  to: server => server,
  [Symbol.asyncDispose]: async () => {},
}

/** nginx with the configuration beside this file, its own folder and a free port. */
export async function startNginx(command: string): Promise<Gateway> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'))
  const port = await freePort()
  const template = readFileSync(new URL('nginx.conf', import.meta.url), 'utf8')
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, template.replace('PORT', String(port)))
  const nginx = new Child(command, ['-p', folder, '-c', config, '-e', 'stderr'])
  await nginx.until(() => isListening(port))
  return {
    name: 'nginx',
    cuts: true,
    to: server => new URL(`http://127.0.0.1:${port}/${server.port}${server.pathname}`),
    [Symbol.asyncDispose]: async () => {
      await nginx[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
}
