import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** Runs one worker to its result: `order` is what main.ts takes. */
export function work(bundle, order, onDone = () => {}) {
  return new Promise((resolve, reject) => {
    const worker = spawn(process.execPath, ['--enable-source-maps', bundle, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let result
    createInterface({ input: worker.stdout }).on('line', line => {
      const message = JSON.parse(line)
      if (message.result) result = message.result
      else onDone(message.done)
    })
    worker.on('error', reject)
    worker.on('close', code =>
      result ? resolve(result) : reject(new Error(`a worker ended with ${code} and no result`)),
    )
  })
}

/** Runs `orders` in so many processes at a time, until one fails. `onDone(index, done)`. */
export async function workAll(bundle, orders, processes, onDone) {
  const results = []
  const queue = [...orders.entries()]
  const lane = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, order] = next
      const result = await work(bundle, order, done => onDone(index, done))
      results.push(result)
      if (result.failure !== undefined) queue.length = 0
    }
  }
  await Promise.all(Array.from({ length: processes }, lane))
  return results
}
