// What the code blocks of the documentation may use without saying where it comes from; nothing else. test/docs only.

/** Address of a stream. */
declare const url: string

/** What the application does with an event. */
declare function handle(...args: unknown[]): Promise<void>

/** A fresh access token of the application. */
declare function token(): Promise<string>

/** The application's state as a whole, and the id of the last event that it contains. */
declare function snapshot(): Promise<{ state: unknown; lastEventId: string }>

/** A schema of zod, valibot or another library. */
declare const price: import('resilient-sse').StandardSchema<{ eur: number }>

/** An Express application, as far as a recipe needs one. */
declare const app: {
  get(
    path: string,
    handler: (
      request: import('node:http').IncomingMessage,
      response: import('node:http').ServerResponse,
    ) => unknown,
  ): unknown
}

// Clients that take a fetch, as far as a page makes one; test/interop/clients has their own types.

declare module 'openai' {
  export default class OpenAI {
    constructor(options: { fetch: typeof globalThis.fetch })
  }
}

declare module '@anthropic-ai/sdk' {
  export default class Anthropic {
    constructor(options: { fetch: typeof globalThis.fetch })
  }
}

declare module 'eventsource' {
  export class EventSource {
    constructor(url: string, options: { fetch: typeof globalThis.fetch })
  }
}
