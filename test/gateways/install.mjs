import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

/** Debian asks this script whether a package may start its service. */
const POLICY = '/usr/sbin/policy-rc.d'

// Debian keeps daemons where only root looks for commands.
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin`, DEBIAN_FRONTEND: 'noninteractive' }
const run = (file, ...args) =>
  spawnSync(file, args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
const isMissing = name => spawnSync(name, ['-v'], { env, stdio: 'ignore' }).error !== undefined

/** Installs the Debian packages that are missing, without starting a service; says on one line what cannot be had. */
export function install(names) {
  const missing = names.filter(isMissing)
  if (missing.length > 0 && process.getuid?.() === 0 && !isMissing('apt-get')) installPackages(missing)
  for (const name of names.filter(isMissing))
    console.log(`skipped, ${name}: it is not installed and could not be (root on Debian can)`)
}

function installPackages(names) {
  const isOurs = !existsSync(POLICY)
  if (isOurs) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    run('apt-get', 'update', '-qq')
    // One by one: that one cannot be had must not keep the others away.
    for (const name of names) {
      run('apt-get', 'install', '-y', '-qq', '--no-install-recommends', name)
      // Nor with the next start of the machine.
      if (existsSync('/run/systemd/system')) run('systemctl', 'disable', '--quiet', `${name}.service`)
    }
  } finally {
    if (isOurs) rmSync(POLICY)
  }
}
