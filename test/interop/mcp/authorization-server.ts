import { createHash, type KeyObject, verify } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GuardAnswer } from './fault-server.ts'
import { ProofChecker } from './proofs.ts'

/** What a client keeps of a token response. */
export interface IssuedTokens {
  access_token: string
  token_type: string
  refresh_token?: string
  scope: string
  issuer: string
}

/** What was asked of the server. */
export interface Asked {
  path: string
  params: URLSearchParams
  headers: IncomingMessage['headers']
}

interface Grant {
  scope: string
  isExpired: boolean
  /** The token is bound to a key (RFC 9449). */
  isBound: boolean
}

/**
 * An authorization server on loopback: metadata (RFC 8414), registration, the code flow with PKCE, client credentials,
 * revocation, and refresh tokens that are used once. As such servers do, it revokes everything when one is used twice.
 */
export class AuthorizationServer implements AsyncDisposable {
  readonly asked: Asked[] = []
  /** Refresh tokens that were used a second time. */
  readonly reused: string[] = []
  /** The scope that a request to the MCP server needs. */
  scopeFor: (request: IncomingMessage) => string = () => 'mcp'
  /** Its own address. */
  issuer = ''
  /** How long a token takes: requests that cross show. */
  tokenDelayMs = 50
  /** No refresh is granted, and each access token is refused from its birth. */
  mode: 'works' | 'never-content' = 'works'
  /** Of clients that sign their assertion. */
  clientKey: KeyObject | undefined
  /** Checks DPoP proofs of the MCP server's requests and of our own. */
  readonly proofs = new ProofChecker()
  readonly #server: Server
  readonly #access = new Map<string, Grant>()
  readonly #refresh = new Map<string, { scope: string; used: boolean; isBound: boolean }>()
  readonly #codes = new Map<string, { scope: string; challenge: string }>()
  #count = 0

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<AuthorizationServer> {
    const server = new AuthorizationServer()
    await new Promise<void>(resolve => server.#server.listen(0, '127.0.0.1', resolve))
    server.issuer = `http://127.0.0.1:${(server.#server.address() as AddressInfo).port}`
    return server
  }

  of(path: string, grant?: string): Asked[] {
    return this.asked.filter(
      asked => asked.path === path && (grant === undefined || asked.params.get('grant_type') === grant),
    )
  }

  get refreshes(): (string | null)[] {
    return this.of('/token', 'refresh_token').map(({ params }) => params.get('refresh_token'))
  }

  /** Tokens as if the user had logged in before. */
  issue({ scope = 'mcp', isBound = false, withRefresh = true } = {}): IssuedTokens {
    const number = ++this.#count
    this.#access.set(`access-${number}`, { scope, isExpired: this.mode === 'never-content', isBound })
    if (withRefresh) this.#refresh.set(`refresh-${number}`, { scope, used: false, isBound })
    return {
      access_token: `access-${number}`,
      token_type: isBound ? 'DPoP' : 'Bearer',
      ...(withRefresh && { refresh_token: `refresh-${number}` }),
      scope,
      issuer: this.issuer,
    }
  }

  /** Every access token so far is refused from here on. */
  expireAll(): void {
    for (const grant of this.#access.values()) grant.isExpired = true
  }

  /** No refresh token is worth anything: the user has to log in again. */
  forgetRefreshTokens(): void {
    this.#refresh.clear()
  }

  /** The user follows a link to `/authorize` and agrees. Resolves to the code. */
  async userAgrees(link: URL): Promise<string> {
    const { headers } = await fetch(link, { redirect: 'manual' })
    return new URL(headers.get('location') ?? '').searchParams.get('code') ?? ''
  }

  /** Stands in front of an MCP server, with the metadata of a protected resource (RFC 9728). */
  readonly guard = (request: IncomingMessage): GuardAnswer | undefined => {
    const origin = `http://${request.headers.host}`
    const path = request.url ?? ''
    if (path.startsWith('/.well-known/oauth-protected-resource')) {
      const metadata = { resource: `${origin}/mcp`, authorization_servers: [this.issuer] }
      return json(200, metadata)
    }
    if (!path.startsWith('/mcp')) return { status: 404 }
    const where = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
    const [scheme = '', token = ''] = (request.headers.authorization ?? '').split(' ')
    const grant = this.#access.get(token)
    const challenge = (status: number, error: string, headers = {}) => ({
      status,
      headers: { 'www-authenticate': `${scheme || 'Bearer'} error="${error}", ${where}`, ...headers },
    })
    if (grant === undefined || grant.isExpired || grant.isBound !== (scheme === 'DPoP'))
      return challenge(401, 'invalid_token')
    if (grant.isBound) {
      const fault = this.proofs.check(request, `${origin}${path}`, token)
      if (fault !== undefined) return challenge(401, fault, this.proofs.nonceHeader())
    }
    const scope = this.scopeFor(request)
    if (!scope.split(' ').every(each => grant.scope.split(' ').includes(each)))
      return challenge(403, 'insufficient_scope', {
        'www-authenticate': `${scheme} error="insufficient_scope", scope="${scope}", ${where}`,
      })
    return undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.issuer)
    let text = ''
    for await (const chunk of request) text += chunk
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true
    const params = new URLSearchParams(isForm ? text : url.search)
    this.asked.push({ path: url.pathname, params, headers: request.headers })
    const { status, headers, body } = await this.#answerTo(url.pathname, params, text)
    response.writeHead(status, headers).end(body)
  }

  async #answerTo(path: string, params: URLSearchParams, text: string): Promise<GuardAnswer> {
    switch (path) {
      case '/.well-known/oauth-authorization-server':
        return json(200, this.#metadata())
      case '/register':
        return json(201, { ...JSON.parse(text), client_id: 'registered' })
      case '/authorize': {
        const code = `code-${++this.#count}`
        const scope = params.get('scope') ?? 'mcp'
        this.#codes.set(code, { scope, challenge: params.get('code_challenge') ?? '' })
        const back = new URL(params.get('redirect_uri') ?? '')
        back.searchParams.set('code', code)
        return { status: 302, headers: { location: back.href } }
      }
      case '/token':
        await sleep(this.tokenDelayMs)
        return this.#token(params)
      case '/revoke':
        this.#access.delete(params.get('token') ?? '')
        this.#refresh.delete(params.get('token') ?? '')
        return { status: 200 }
      default:
        return { status: 404 }
    }
  }

  #token(params: URLSearchParams): GuardAnswer {
    const refused = (error: string) => json(400, { error, error_description: error })
    const granted = (given: Parameters<AuthorizationServer['issue']>[0]) => {
      const { issuer: _, ...tokens } = this.issue(given)
      return json(200, { ...tokens, expires_in: 3_600 })
    }
    switch (params.get('grant_type')) {
      case 'refresh_token': {
        const token = params.get('refresh_token') ?? ''
        const known = this.#refresh.get(token)
        if (known?.used) {
          this.reused.push(token)
          this.expireAll()
          this.forgetRefreshTokens()
        }
        if (known === undefined || known.used) return refused('invalid_grant')
        known.used = true
        return granted({ scope: known.scope, isBound: known.isBound })
      }
      case 'authorization_code': {
        const code = this.#codes.get(params.get('code') ?? '')
        const hash = createHash('sha256')
          .update(params.get('code_verifier') ?? '')
          .digest('base64url')
        return code?.challenge === hash ? granted({ scope: code.scope }) : refused('invalid_grant')
      }
      case 'client_credentials':
        return this.#isClient(params)
          ? granted({ scope: params.get('scope') ?? 'mcp', withRefresh: false })
          : refused('invalid_client')
      default:
        return refused('unsupported_grant_type')
    }
  }

  /** A signed assertion (RFC 7523), where a key is known; a secret is good as it is. */
  #isClient(params: URLSearchParams): boolean {
    if (this.clientKey === undefined) return true
    const [head = '', claims = '', signature = ''] = (params.get('client_assertion') ?? '').split('.')
    const signed = Buffer.from(`${head}.${claims}`)
    return verify('sha256', signed, this.clientKey, Buffer.from(signature, 'base64url'))
  }

  #metadata(): object {
    const { issuer } = this
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      revocation_endpoint: `${issuer}/revoke`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'private_key_jwt'],
    }
  }
}

function json(status: number, value: object): GuardAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}
