import type { AuthorizationServer, IssuedTokens } from './authorization-server.ts'

/** An `OAuthClientProvider` as hosts write it, good for either line of the SDK: everything in memory. */
export class HostProvider {
  readonly redirectUrl: string | undefined = 'http://127.0.0.1/callback'
  /** Where the user was sent. */
  readonly redirects: URL[] = []
  /** What the SDK took for worthless. */
  readonly invalidated: string[] = []
  readonly #server: AuthorizationServer
  #tokens: IssuedTokens | undefined
  #verifier = ''
  #discovered: object | undefined

  /** With the tokens of an earlier login. */
  constructor(server: AuthorizationServer, tokens: IssuedTokens | undefined = server.issue()) {
    this.#server = server
    this.#tokens = tokens
  }

  get clientMetadata() {
    return { client_name: 'host', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none' }
  }

  clientInformation() {
    return { client_id: 'host', issuer: this.#server.issuer }
  }

  tokens() {
    return this.#tokens
  }

  saveTokens(tokens: IssuedTokens) {
    this.#tokens = tokens
  }

  redirectToAuthorization(url: URL) {
    this.redirects.push(url)
  }

  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier
  }

  codeVerifier() {
    return this.#verifier
  }

  saveDiscoveryState(state: object) {
    this.#discovered = state
  }

  discoveryState() {
    return this.#discovered
  }

  invalidateCredentials(what: string) {
    this.invalidated.push(what)
    if (what === 'tokens' || what === 'all') this.#tokens = undefined
  }
}
