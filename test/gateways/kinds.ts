import { readFileSync, writeFileSync } from 'node:fs'
import type { Kind } from './gateway.ts'

/** How long old streams live after a reload. The documented 30 s would be half of the run. */
export const OLD_STREAMS_S = 3

export const nginx: Kind = {
  name: 'nginx',
  file: 'nginx.conf',
  place: ({ folder, port, tlsPort, upstreamPort }) => [
    ['127.0.0.1:3000', `127.0.0.1:${upstreamPort}`],
    ['listen 443', `listen 127.0.0.1:${tlsPort}`],
    ['listen 80', `listen 127.0.0.1:${port}`],
    ['events.example.com', 'localhost'],
    ['/etc/ssl/events/fullchain.pem', `${folder}/cert.pem`],
    ['/etc/ssl/events/key.pem', `${folder}/key.pem`],
    ['shutdown_timeout 30s', `shutdown_timeout ${OLD_STREAMS_S}s`],
    // The paths that are compiled in are the system's own.
    ['http {', ['http {', 'access_log off;', ...nginxPaths(folder)].join('\n  ')],
  ],
  version: ['nginx', '-v'],
  check: folder => ['nginx', '-t', ...nginxArgs(folder)],
  run: folder => ['nginx', ...nginxArgs(folder)],
  reload: () => 'SIGHUP',
  stopSignal: 'SIGTERM',
}

const nginxPaths = (folder: string) =>
  ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(use => `${use}_temp_path ${folder}/${use};`)

const nginxArgs = (folder: string) => [
  ...['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'],
  ...['-g', `daemon off; pid ${folder}/nginx.pid;`],
]

export const caddy: Kind = {
  name: 'Caddy',
  file: 'Caddyfile',
  place: ({ folder, port, tlsPort, upstreamPort }) => [
    ['127.0.0.1:3000', `127.0.0.1:${upstreamPort}`],
    [
      'events.example.com {',
      [
        ...[`http://localhost:${port} {`, '\tbind 127.0.0.1', '\timport events', '}'],
        ...[`https://localhost:${tlsPort} {`, '\tbind 127.0.0.1'],
      ].join('\n'),
    ],
    ['/etc/ssl/events/fullchain.pem', `${folder}/cert.pem`],
    ['/etc/ssl/events/key.pem', `${folder}/key.pem`],
    // Else redirects would listen on port 80, and the admin endpoint on 2019.
    ['# Careful with', `auto_https off\n\tadmin unix/${folder}/admin\n\t# Careful with`],
  ],
  version: ['caddy', 'version'],
  check: folder => ['caddy', 'validate', ...caddyArgs(folder)],
  run: folder => ['caddy', 'run', ...caddyArgs(folder)],
  // Forced, because a file that has not changed would not be read.
  reload: folder => ['caddy', 'reload', '--force', '--address', `unix/${folder}/admin`, ...caddyArgs(folder)],
  // SIGTERM waits for the streams.
  stopSignal: 'SIGQUIT',
}

const caddyArgs = (folder: string) => ['--adapter', 'caddyfile', '--config', `${folder}/Caddyfile`]

export const haproxy: Kind = {
  name: 'HAProxy',
  file: 'haproxy.cfg',
  place: ({ folder, port, tlsPort, upstreamPort }) => {
    const pem = `${folder}/fullchain-and-key.pem`
    writeFileSync(pem, readFileSync(`${folder}/cert.pem`, 'utf8') + readFileSync(`${folder}/key.pem`, 'utf8'))
    return [
      ['127.0.0.1:3000', `127.0.0.1:${upstreamPort}`],
      ['bind :80', `bind 127.0.0.1:${port}`],
      ['bind :443', `bind 127.0.0.1:${tlsPort}`],
      ['/etc/ssl/events/fullchain-and-key.pem', pem],
      ['hard-stop-after 30s', `hard-stop-after ${OLD_STREAMS_S}s`],
    ]
  },
  version: ['haproxy', '-v'],
  check: folder => ['haproxy', '-c', '-f', `${folder}/haproxy.cfg`],
  // With a master process, which reads the configuration again when it is told to.
  run: folder => ['haproxy', '-W', '-f', `${folder}/haproxy.cfg`],
  reload: () => 'SIGUSR2',
  stopSignal: 'SIGTERM',
}
