import { unknownMembers } from '../../query/index.js';

/**
 * Which tokens (JWT, RFC 7519) give access. At least one of `jwksUrl` and `secret` is needed. A token needs the claims `sub`
 * and `exp`. A member that is undefined counts as absent.
 */
export interface JwtOptions {
  /**
   * Where the issuer publishes its keys (a JSON Web Key Set, RFC 7517): `https:`, or `http:` on a network that you trust.
   * Only asymmetric algorithms are accepted: RS, PS and ES with 256, 384 and 512, EdDSA and Ed25519.
   */
  jwksUrl?: string | undefined;
  /** A secret that is shared with the issuer, at least 32 bytes as UTF-8: HS256; from 48 bytes also HS384, from 64 HS512. */
  secret?: string | undefined;
  /** The claim `iss` must be this, or one of these. Default: any. */
  issuer?: string | readonly string[] | undefined;
  /** The claim `aud` must have this, or one of these. Default: any. */
  audience?: string | readonly string[] | undefined;
  /** By how many seconds the clocks of issuer and service may differ, from 0 to 300. Default 5. */
  clockToleranceSeconds?: number | undefined;
}

/** The options, checked and with their defaults. */
export interface JwtSettings {
  jwksUrl: URL | undefined;
  secret: Uint8Array | undefined;
  issuer: string[] | undefined;
  audience: string[] | undefined;
  clockToleranceSeconds: number;
}

const CLOCK_TOLERANCE_SECONDS = 5;
const MAX_CLOCK_TOLERANCE_SECONDS = 300;

/** RFC 7518 §3.2: the secret must be at least as long as the hash. */
export const SECRET_BYTES = { HS256: 32, HS384: 48, HS512: 64 } as const;

const MEMBERS: Record<keyof JwtOptions, true> = {
  jwksUrl: true,
  secret: true,
  issuer: true,
  audience: true,
  clockToleranceSeconds: true,
};

/** @param faults gets a sentence for each fault; none contains the secret */
export function jwtSettingsOf(options: JwtOptions, faults: string[]): JwtSettings {
  faults.push(...unknownMembers(options, MEMBERS, 'jwt'));
  const { jwksUrl, secret, clockToleranceSeconds = CLOCK_TOLERANCE_SECONDS } = options;
  if (jwksUrl === undefined && secret === undefined) faults.push('jwt needs jwksUrl or secret.');
  if (!(clockToleranceSeconds >= 0 && clockToleranceSeconds <= MAX_CLOCK_TOLERANCE_SECONDS))
    faults.push(`jwt.clockToleranceSeconds must be a number from 0 to ${MAX_CLOCK_TOLERANCE_SECONDS}.`);
  return {
    jwksUrl: jwksUrl === undefined ? undefined : urlOf(jwksUrl, faults),
    secret: secret === undefined ? undefined : secretOf(secret, faults),
    issuer: namesOf('issuer', options.issuer, faults),
    audience: namesOf('audience', options.audience, faults),
    clockToleranceSeconds,
  };
}

function urlOf(text: string, faults: string[]): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable =
    url && ['https:', 'http:'].includes(url.protocol) && url.username === '' && url.password === '';
  // Not the URL itself: it may contain a password.
  if (!isUsable) faults.push('jwt.jwksUrl must be a URL that begins with https: or http:, without a user.');
  return url;
}

function secretOf(text: string, faults: string[]): Uint8Array {
  const secret = new TextEncoder().encode(String(text));
  if (secret.length < SECRET_BYTES.HS256)
    faults.push(`jwt.secret has ${secret.length} bytes; it must have at least ${SECRET_BYTES.HS256}.`);
  return secret;
}

function namesOf(
  member: string,
  value: string | readonly string[] | undefined,
  faults: string[],
): string[] | undefined {
  if (value === undefined) return undefined;
  const names = [value].flat() as unknown[];
  // An empty list would accept any token, or none: neither is what its author meant.
  if (names.length === 0 || names.some((name) => typeof name !== 'string' || name.trim() === ''))
    faults.push(`jwt.${member} must be a text that is not empty, or a list of such texts.`);
  return names as string[];
}
