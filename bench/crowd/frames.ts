/** The n-th event of a stream of the crowd, as both sides must know it. */
export const dataOf = (stream: number, n: number): string => `{"stream":${stream},"n":${n},"price":101.25}`

export const frameOf = (stream: number, n: number): string => `id: ${n}\ndata: ${dataOf(stream, n)}\n\n`

export const GREETING = 'hello'
