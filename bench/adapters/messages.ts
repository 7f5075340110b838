/** The n-th log message, about as large as the events of `throughput`. */
export function notification(n: number) {
  return { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: dataOf(n) } }
}

export const dataOf = (n: number): string => `message ${n} of a tool that tells what it does`
