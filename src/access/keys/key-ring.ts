import { timingSafeEqual } from 'node:crypto';
import { type ApiKey, digestOf } from './api-key.js';

/** The API keys that are valid now. They can be replaced while the service runs. */
export class KeyRing {
  #digests: { name: string; digest: Buffer }[] = [];

  constructor(keys: readonly ApiKey[]) {
    this.replace(keys);
  }

  replace(keys: readonly ApiKey[]): void {
    this.#digests = keys.map(({ name, sha256 }) => ({ name, digest: Buffer.from(sha256, 'hex') }));
  }

  /**
   * Returns the name of a key, or undefined if no such key is configured. Every digest is compared, so that the time does not
   * depend on which one is equal.
   */
  nameOf(key: string): string | undefined {
    const digest = digestOf(key);
    let found: string | undefined;
    for (const each of this.#digests) if (timingSafeEqual(each.digest, digest)) found = each.name;
    return found;
  }
}
