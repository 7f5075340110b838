import { createHash } from 'node:crypto'

/** A mark of what an image was made from. */
export const stampOf = (data: unknown): string =>
  createHash('sha256').update(JSON.stringify(data)).digest('hex').slice(0, 16)

export const stamped = (svg: string, data: unknown): string =>
  svg.replace(/^<svg /, `<svg data-made-from="${stampOf(data)}" `)
