import { Logger } from '@nestjs/common';
import type { createRemoteJWKSet, errors, FlattenedJWSInput, JWSHeaderParameters } from 'jose';

/** An unknown key id fetches the keys again, at most this often: a caller must not make the service flood the issuer. */
const UNKNOWN_KEY_MS = 5_000;

/** After a fetch that failed: how long no other is tried. */
const FAILED_MS = 2_000;

const FETCH_MS = 5_000;

/** The keys of an issuer cannot be reached. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
  /** When the next fetch may be tried, in seconds. */
  readonly retryAfter = FAILED_MS / 1000;
}

type RemoteSet = ReturnType<typeof createRemoteJWKSet>;

/** What is used of `jose`, which is loaded only where tokens are configured. */
interface Jose {
  createRemoteJWKSet: typeof createRemoteJWKSet;
  errors: typeof errors;
}

/** The keys that an issuer publishes at a URL. They are kept for ten minutes, and fetched again for a key id that is unknown. */
export class RemoteKeys {
  readonly #logger = new Logger('Access');
  readonly #set: RemoteSet;
  #unknownAt = -Infinity;
  #failedAt = -Infinity;

  constructor(
    private readonly jose: Jose,
    private readonly url: URL,
  ) {
    // The set itself must not fetch again for unknown keys: its pause begins with each fetch, so that the keys of an issuer
    // that changes them soon after a fetch would be unknown for all of the pause.
    this.#set = jose.createRemoteJWKSet(url, { cooldownDuration: Infinity, timeoutDuration: FETCH_MS });
  }

  /**
   * Finds the key of a token.
   *
   * @throws {KeysUnavailable} the keys cannot be fetched
   * @throws {JOSEError} `ERR_JWKS_NO_MATCHING_KEY` and others: the token has no key of the issuer
   */
  async keyOf(header: JWSHeaderParameters, token: FlattenedJWSInput) {
    if (!this.#set.fresh) await this.#fetch();
    try {
      return await this.#set(header, token);
    } catch (error) {
      if (!(error instanceof this.jose.errors.JWKSNoMatchingKey)) throw error;
      if (!(await this.#fetchForUnknownKey())) throw error;
      return this.#set(header, token);
    }
  }

  /** Returns whether the keys were fetched: not if they have just been fetched for another unknown key. */
  async #fetchForUnknownKey(): Promise<boolean> {
    // Whoever comes while the keys are fetched waits for them too.
    if (!this.#set.reloading) {
      if (performance.now() - this.#unknownAt < UNKNOWN_KEY_MS) return false;
      this.#unknownAt = performance.now();
    }
    await this.#fetch();
    return true;
  }

  async #fetch(): Promise<void> {
    if (!this.#set.reloading && performance.now() - this.#failedAt < FAILED_MS) throw new KeysUnavailable();
    const isFirst = !this.#set.reloading;
    try {
      await this.#set.reload();
    } catch (error) {
      this.#failedAt = performance.now();
      // The next unknown key may be one that this fetch would have found.
      this.#unknownAt = -Infinity;
      if (isFirst) this.#logger.error(`The keys of ${this.url.host} cannot be fetched: ${causeOf(error)}`);
      throw new KeysUnavailable();
    }
  }
}

/** `fetch` says "fetch failed", and its cause why. Neither contains the token, which is not part of this request. */
function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  const { code, message: inner } = (cause ?? {}) as NodeJS.ErrnoException;
  return JSON.stringify([message, code ?? inner].filter(Boolean).join(': '));
}
