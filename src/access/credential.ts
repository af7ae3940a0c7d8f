import type { IncomingMessage } from 'node:http';
import { headerValues } from '../query/index.js';

/** What a caller has sent to show who it is. */
export type Credential =
  | { kind: 'none' }
  /** Several that differ: it must not depend on us which one counts. */
  | { kind: 'several' }
  /** `mayBeToken`: it came as a bearer token. */
  | { kind: 'one'; text: string; mayBeToken: boolean };

/** `Authorization: Bearer <token>` (RFC 6750 §2.1); the scheme is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^bearer +(.+)$/i;

/**
 * Finds the credential in `Authorization: Bearer` and `X-API-Key`. The same one may stand in both. Other schemes of
 * `Authorization`, for example of a proxy, count as no credential.
 */
export function credentialOf(request: IncomingMessage): Credential {
  const bearers = headerValues(request, 'authorization').flatMap(
    (value) => BEARER.exec(value.trim())?.[1] ?? [],
  );
  const keys = headerValues(request, 'x-api-key').map((value) => value.trim());
  const sent = new Set([...bearers, ...keys].filter((text) => text !== ''));
  const [text] = sent;
  if (text === undefined) return { kind: 'none' };
  if (sent.size > 1) return { kind: 'several' };
  return { kind: 'one', text, mayBeToken: bearers.includes(text) };
}
