import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { streamText } from 'ai'
import OpenAI from 'openai'
import { raw, type Step } from 'resilient-sse/testing'

/** An SDK for models that takes a `fetch`, with its own defaults for everything else. */
export interface ModelSdk {
  name: string
  /** Asks for an answer that is streamed, and gives its words as they come. */
  ask(fetch: typeof globalThis.fetch, origin: string): AsyncIterable<string>
  /** What its server sends: the first words of an answer, and the rest of it. */
  begin: Step
  finish: Step
}

const block = (data: unknown, event?: string) =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`

const chunk = (content: string, finish_reason: string | null = null) =>
  block({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { content }, finish_reason }],
  })

const COMPLETION = {
  begin: raw(chunk('one ') + chunk('two ')),
  finish: raw(`${chunk('three')}${chunk('', 'stop')}data: [DONE]\n\n`),
}

const text = (text: string) =>
  block({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }, 'content_block_delta')

const MESSAGE = {
  id: 'm1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
}

const content = { type: 'text', text: '' }

export const MODEL_SDKS: ModelSdk[] = [
  {
    name: 'openai',
    async *ask(fetch, origin) {
      const client = new OpenAI({ apiKey: 'key', baseURL: `${origin}/v1`, fetch })
      const messages = [{ role: 'user' as const, content: 'count' }]
      for await (const { choices } of await client.chat.completions.create({
        model: 'm',
        messages,
        stream: true,
      }))
        yield choices[0]?.delta.content ?? ''
    },
    ...COMPLETION,
  },
  {
    name: '@anthropic-ai/sdk',
    async *ask(fetch, origin) {
      const client = new Anthropic({ apiKey: 'key', baseURL: origin, fetch })
      const messages = [{ role: 'user' as const, content: 'count' }]
      for await (const event of await client.messages.create({
        model: 'm',
        max_tokens: 9,
        messages,
        stream: true,
      }))
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') yield event.delta.text
    },
    begin: raw(
      block({ type: 'message_start', message: MESSAGE }, 'message_start') +
        block({ type: 'content_block_start', index: 0, content_block: content }, 'content_block_start') +
        text('one ') +
        text('two '),
    ),
    finish: raw(
      text('three') +
        block({ type: 'content_block_stop', index: 0 }, 'content_block_stop') +
        block({ type: 'message_stop' }, 'message_stop'),
    ),
  },
  {
    name: '@ai-sdk/openai',
    async *ask(fetch, origin) {
      const provider = createOpenAI({ apiKey: 'key', baseURL: `${origin}/v1`, fetch })
      const answer = streamText({ model: provider.chat('m'), prompt: 'count', onError: () => {} })
      for await (const part of answer.fullStream) {
        if (part.type === 'text-delta') yield part.text
        if (part.type === 'error') throw part.error
      }
    },
    ...COMPLETION,
  },
]
