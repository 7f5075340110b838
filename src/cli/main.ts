import { UsageError } from './args.ts'
import { chaos } from './chaos.ts'
import { demo } from './demo/demo.ts'
import { follow } from './follow.ts'
import { harmlessLine, isBrokenPipe } from './terminal.ts'

// A reader that went away is told to the write that met it; without a listener it would end us with a stack trace.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

async function main([command, ...rest]: string[]): Promise<number> {
  try {
    if (command === 'chaos') return await chaos(rest)
    return command === 'demo' ? await demo(rest) : await follow(process.argv.slice(2))
  } catch (error) {
    if (isBrokenPipe(error)) return 0
    if (!(error instanceof UsageError)) throw error
    const named = command === 'demo' || command === 'chaos'
    const help = named ? `resilient-sse ${command} --help` : 'resilient-sse --help'
    process.stderr.write(`resilient-sse: ${harmlessLine(error.message)}; see ${help}\n`)
    return 2
  }
}

// Not process.exit(): what was written to a pipe must get there first.
process.exitCode = await main(process.argv.slice(2))
