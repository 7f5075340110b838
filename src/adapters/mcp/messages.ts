/** A JSON-RPC id. `null` stands in errors that could not be attributed. */
export type RequestId = string | number

/** As much of a JSON-RPC message as these rules look at. */
export interface Message {
  jsonrpc?: string
  id?: RequestId | null
  method?: string
  params?: Record<string, unknown>
  result?: unknown
  error?: unknown
}

/** The messages of a body or of an event; a batch (2025-03-26) has several. None when it is not JSON-RPC. */
export function messagesIn(text: string | undefined): Message[] {
  if (text === undefined) return []
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return []
  }
  return (Array.isArray(parsed) ? parsed : [parsed]).filter(
    message => typeof message === 'object' && message !== null,
  )
}

/** The messages that want an answer. */
export function requestsIn(messages: readonly Message[]): (Message & { id: RequestId; method: string })[] {
  return messages.filter(
    (message): message is Message & { id: RequestId; method: string } =>
      typeof message.method === 'string' && message.id !== undefined && message.id !== null,
  )
}

/** The ids that an event answers, by a result or by an error. Most events are notifications: they are not parsed. */
export function answersIn(data: string): RequestId[] {
  if (!/"(?:result|error)"/.test(data)) return []
  const ids: RequestId[] = []
  for (const { id, method, result, error } of messagesIn(data)) {
    const isAnswer = method === undefined && (result !== undefined || error !== undefined)
    if (isAnswer && id !== undefined && id !== null) ids.push(id)
  }
  return ids
}

/** A message that wants an answer. */
export function isRequest(message: Message): message is Message & { id: RequestId; method: string } {
  return requestsIn([message]).length > 0
}

/** A message that is one. */
export function isAnswer({ id, method }: Message): boolean {
  return method === undefined && id !== undefined
}

/** `1` and `'1'` are two ids. */
export function idKey(id: unknown): string {
  return JSON.stringify(id)
}

/** The token of a progress notification: for the SDKs, the id of the call that it is about. */
export function progressIn(data: string): RequestId | undefined {
  if (!data.includes('"notifications/progress"')) return undefined
  const progress = messagesIn(data).find(({ method }) => method === 'notifications/progress')
  return progress?.params?.progressToken as RequestId | undefined
}

/** A priming event: there is nothing in it but its id. Servers of the SDK replay it as an empty message. */
export function isPriming(data: string): boolean {
  return data === '' || data === '{}'
}
