import { createHash, createPublicKey, verify } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Checks DPoP proofs as RFC 9449 has it: bound to method, URL and token, good for one use, with a nonce when asked for. */
export class ProofChecker {
  /** The nonce that each proof has to hold. */
  nonce: string | undefined
  /** Why proofs were refused. */
  readonly faults: string[] = []
  readonly #seen = new Set<string>()

  nonceHeader(): Record<string, string> {
    return this.nonce === undefined ? {} : { 'dpop-nonce': this.nonce }
  }

  /** The error to be told, if there is one. */
  check({ method, headers }: IncomingMessage, url: string, token: string): string | undefined {
    const fault = this.#faultOf(method ?? '', url, token, String(headers.dpop ?? ''))
    if (fault === undefined) return undefined
    this.faults.push(fault)
    return fault === 'nonce' ? 'use_dpop_nonce' : 'invalid_dpop_proof'
  }

  #faultOf(method: string, url: string, token: string, proof: string): string | undefined {
    const [head = '', body = '', signature = ''] = proof.split('.')
    if (signature === '') return 'missing'
    const { typ, jwk } = decoded(head)
    const claims = decoded(body)
    const key = createPublicKey({ key: jwk as never, format: 'jwk' })
    const signed = Buffer.from(`${head}.${body}`)
    const bytes = Buffer.from(signature, 'base64url')
    if (typ !== 'dpop+jwt' || !verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, bytes))
      return 'signature'
    if (claims.htm !== method) return 'method'
    if (claims.htu !== url) return 'url'
    if (claims.ath !== createHash('sha256').update(token).digest('base64url')) return 'token'
    if (this.#seen.has(String(claims.jti))) return 'replay'
    this.#seen.add(String(claims.jti))
    return claims.nonce === this.nonce ? undefined : 'nonce'
  }
}

function decoded(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString())
}
