import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ResilientSse } from 'resilient-sse'
import * as v from 'valibot'
import { expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'

// The examples against the frameworks' own types, and what `expectTypeOf` says below: neither is seen at run time.
test('the examples and the types of parsed data are type-correct', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const config = fileURLToPath(new URL('tsconfig.json', import.meta.url))
  const args = [`${root}/node_modules/typescript/bin/tsc`, '--noEmit', '-p', config]
  const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stdout).toBe('')
  expect(status).toBe(0)
})

type DataOf<Stream> = Stream extends AsyncIterable<{ data: infer Data }> ? Data : never

test('the type of data is what the schema gives, after its transformations', () => {
  const stream = () => new ResilientSse('http://server.test/')

  const zod = stream().json(
    z.object({ at: z.string().transform(text => new Date(text)), tags: z.array(z.string()) }),
  )
  expectTypeOf<DataOf<typeof zod>>().toEqualTypeOf<{ at: Date; tags: string[] }>()

  const valibot = stream().json(
    v.object({
      at: v.pipe(
        v.string(),
        v.transform(text => new Date(text)),
      ),
      tags: v.array(v.string()),
    }),
  )
  expectTypeOf<DataOf<typeof valibot>>().toEqualTypeOf<{ at: Date; tags: string[] }>()

  const either = stream().json(
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('trade'), price: z.number() }),
      z.object({ kind: z.literal('halt'), reason: z.string().optional() }),
    ]),
  )
  expectTypeOf<DataOf<typeof either>>().toEqualTypeOf<
    { kind: 'trade'; price: number } | { kind: 'halt'; reason?: string | undefined }
  >()

  const asynchronous = stream().json(
    v.pipeAsync(
      v.string(),
      v.transformAsync(async text => text.length),
    ),
  )
  expectTypeOf<DataOf<typeof asynchronous>>().toEqualTypeOf<number>()

  const unchecked = stream().json()
  expectTypeOf<DataOf<typeof unchecked>>().toEqualTypeOf<unknown>()

  const asserted = stream().json<{ price: number }>()
  expectTypeOf<DataOf<typeof asserted>>().toEqualTypeOf<{ price: number }>()
})
