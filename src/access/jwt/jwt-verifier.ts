import { Logger } from '@nestjs/common';
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose';
import { invalidCredential, keysUnavailable } from '../refusals.js';
import { type JwtSettings, SECRET_BYTES } from './jwt-options.js';
import { KeysUnavailable, RemoteKeys } from './remote-keys.js';

type Jose = typeof import('jose');

/** The algorithms of published keys. None of them accepts a published key as a secret, and none is `none`. */
const ASYMMETRIC = ['RS', 'PS', 'ES'].flatMap((family) => [256, 384, 512].map((bits) => `${family}${bits}`));
const ALGORITHMS_OF_JWKS = [...ASYMMETRIC, 'EdDSA', 'Ed25519'];

/** Three segments of base64url (RFC 7515 §7.1). */
const COMPACT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The reasons for the operator, by the codes of `jose`. Its own messages may change, and one day contain what a caller sent. */
const REASONS = new Map([
  ['ERR_JWT_EXPIRED', 'it has expired'],
  ['ERR_JOSE_ALG_NOT_ALLOWED', 'its algorithm is not accepted'],
  ['ERR_JOSE_NOT_SUPPORTED', 'it uses an algorithm or an extension that is not supported'],
  ['ERR_JWKS_NO_MATCHING_KEY', 'no key of the issuer matches it'],
  ['ERR_JWKS_MULTIPLE_MATCHING_KEYS', 'several keys of the issuer match it, and none has signed it'],
  ['ERR_JWS_SIGNATURE_VERIFICATION_FAILED', 'its signature is wrong'],
  ['ERR_JWS_INVALID', 'it does not have the form of a JWT'],
  ['ERR_JWT_INVALID', 'it does not have the form of a JWT'],
]);

/** The claims of RFC 7519 §4.1 that are checked. */
const CLAIMS = ['iss', 'aud', 'sub', 'exp', 'nbf', 'iat'];

/** Checks tokens, and tells whose they are. */
export class JwtVerifier {
  readonly #options: JWTVerifyOptions;
  readonly #keyOf: JWTVerifyGetKey;

  private constructor(
    private readonly jose: Jose,
    { jwksUrl, secret, issuer, audience, clockToleranceSeconds }: JwtSettings,
  ) {
    const remote = jwksUrl && new RemoteKeys(jose, jwksUrl);
    const symmetric = Object.entries(SECRET_BYTES).filter(([, bytes]) => (secret?.length ?? 0) >= bytes);
    this.#options = {
      algorithms: [...symmetric.map(([name]) => name), ...(remote ? ALGORITHMS_OF_JWKS : [])],
      clockTolerance: clockToleranceSeconds,
      requiredClaims: ['sub', 'exp'],
      ...(issuer && { issuer }),
      ...(audience && { audience }),
    };
    // The algorithm is one of the above. It alone decides which key can be used.
    this.#keyOf = (header, token) => (header.alg?.startsWith('HS') ? secret! : remote!.keyOf(header, token));
  }

  /** @throws {Error} the package `jose` is missing */
  static async open(settings: JwtSettings): Promise<JwtVerifier> {
    warnOfGaps(settings);
    return new JwtVerifier(await import('jose'), settings);
  }

  /**
   * Returns the owner of a token.
   *
   * @throws {AccessRefusal} `unauthorized`: the token is not valid · `unavailable`: the keys of the issuer cannot be fetched
   */
  async ownerOf(token: string): Promise<string> {
    if (!COMPACT_FORM.test(token)) throw invalidCredential('It is no API key of this service, and no JWT.');
    try {
      return ownerOfClaims(await this.#claimsOf(token));
    } catch (error) {
      if (error instanceof KeysUnavailable) throw keysUnavailable(error.retryAfter);
      throw invalidCredential(`The JWT is not valid: ${reasonOf(error)}.`);
    }
  }

  async #claimsOf(token: string): Promise<JWTPayload> {
    const { jwtVerify, errors } = this.jose;
    try {
      return (await jwtVerify(token, this.#keyOf, this.#options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // The token has no key id, and the issuer has several keys of its kind.
      for await (const key of error) {
        try {
          return (await jwtVerify(token, key, this.#options)).payload;
        } catch (failure) {
          if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
        }
      }
      throw error;
    }
  }
}

/** JSON is unambiguous whatever issuers and subjects contain, and has no line breaks. */
function ownerOfClaims({ iss, sub, ...claims }: JWTPayload): string {
  // `jose` accepts any number, also what JSON.parse makes of 1e400: a token with such an end would never expire.
  // A fraction of a second is allowed (RFC 7519 §2, NumericDate).
  const times = ['exp', 'nbf', 'iat'] as const;
  const wrong = times.find((name) => Math.abs(claims[name] ?? 0) > Number.MAX_SAFE_INTEGER);
  if (wrong) throw new WrongClaim(wrong);
  if (typeof sub !== 'string' || sub === '') throw new WrongClaim('sub');
  if (iss !== undefined && typeof iss !== 'string') throw new WrongClaim('iss');
  return `jwt:${JSON.stringify([iss ?? null, sub])}`;
}

class WrongClaim extends Error {
  constructor(readonly claim: string) {
    super(claim);
  }
}

/** The rest of a sentence, without anything that the caller has sent. */
function reasonOf(error: unknown): string {
  const { code, claim } = error as { code?: string; claim?: string };
  const known = REASONS.get(code ?? '');
  if (known) return known;
  return claim !== undefined && CLAIMS.includes(claim)
    ? `its claim "${claim}" is missing or wrong`
    : 'it cannot be checked with the key that it names';
}

function warnOfGaps({ jwksUrl, audience, issuer }: JwtSettings): void {
  const logger = new Logger('Access');
  if (jwksUrl && !audience && !issuer)
    logger.warn(
      'JWT: neither an issuer nor an audience is configured, so each token that a key of the JWKS has signed gives access, ' +
        'also one that was made for another service.',
    );
  if (jwksUrl?.protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(jwksUrl.hostname))
    logger.warn(
      'JWT: the keys are fetched with http:, so whoever controls the network can replace them. Use https:.',
    );
}
