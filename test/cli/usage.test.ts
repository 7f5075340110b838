import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { cli } from './cli.ts'

const URL_ = 'http://127.0.0.1:9/events'

describe.concurrent('the command line', () => {
  it.for([
    [[], 'a URL is missing'],
    [[URL_, URL_], 'one URL only'],
    [['events'], 'URL: not an absolute URL'],
    [['ftp://example.com/'], 'URL: ftp: is not http: or https:'],
    [[URL_, '--colour'], "Unknown option '--colour'"],
    [[URL_, '--max'], "'--max <value>' argument missing"],
    [[URL_, '--max', '0'], '--max: "0" is not an integer from 1'],
    [[URL_, '--timeout', 'soon'], '--timeout: "soon" is not a number of seconds'],
    [
      [URL_, '--heartbeat', '0.01'],
      '--heartbeat: "0.01" is not auto or a number of seconds from 0.05 to 86,400',
    ],
    [[URL_, '--header', 'secret'], '--header: "secret" is not \'Name: value\''],
    [[URL_, '--method', 'G T'], '--method: "G T" is not an HTTP method'],
    [[URL_, '--method', 'GET', '--data', 'x'], '--data: '],
    [[URL_, '--proxy', 'nowhere'], '--proxy: '],
    [[URL_, '--cursor', ''], '--cursor: the path of a file is needed'],
    [['demo', 'now'], 'demo takes options only: "now" is too much'],
    [['demo', '--events', '12'], '--events: "12" is not an integer from 400'],
    [['demo', '--seed', '-1'], '--seed'],
    [['demo', '--without', 'luck'], '--without: "luck" is not one of tcp, heartbeat'],
    [['demo', '--only', 'rain'], '--only: "rain" is in no name of a fault'],
    [['demo', '--serve', '70000'], '--serve: "70000" is not an integer from 0 to 65535'],
    [['demo', '--serve', '0', '--json'], '--serve: goes with'],
  ] as const)('refuses %j in one line that names the option', async ([args, message]) => {
    const { code, stdout, stderr } = await cli(...args)
    expect(stderr).toContain(`resilient-sse: `)
    expect(stderr).toContain(message)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(stderr).toMatch(/; see resilient-sse (demo )?--help\n$/)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  it('does not repeat a header value that HTTP does not allow', async () => {
    const { code, stderr } = await cli(URL_, '--header', 'Authorization: Bearer s3cret\u0001')
    expect(stderr).toContain('--header: "Authorization"')
    expect(stderr).not.toContain('s3cret')
    expect(code).toBe(2)
  })

  it.for([[['--help']], [['demo', '--help']]] as const)(
    '%j explains itself in 80 columns',
    async ([args]) => {
      const { code, stdout, stderr } = await cli(...args)
      expect(stdout).toMatch(/^Usage: resilient-sse /)
      expect(stdout).toContain('Exit codes:')
      for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
      expect(stderr).toBe('')
      expect(code).toBe(0)
    },
  )

  it('tells its version', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    expect(await cli('--version')).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
  })
})
