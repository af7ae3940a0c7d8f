import { timingSafeEqual } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { AccessSettings } from './access.options.js';
import type { Credential } from './credential.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import { type ApiKey, checkedKeys, digestOf, expiryOf } from './keys/api-key.js';
import { KeysFile } from './keys/keys-file.js';
import { type AccessRefusal, invalidCredential, noCredential, severalCredentials } from './refusals.js';

/** An API key as it is looked for. */
type KnownKey = ApiKey & { digest: Buffer; expiresAt: number };

/** Tells whose a credential is. */
export class Authenticator {
  /** The keys that are valid now. They change with their file. */
  #keys: KnownKey[] = [];
  /** The digests of the keys of which the log says that they have expired. */
  readonly #expired = new Set<string>();
  readonly #logger = new Logger('Access');
  #file: KeysFile | undefined;

  private constructor(private readonly jwt: JwtVerifier | undefined) {}

  /** @throws {Error} the file of keys is not usable, or a package is missing */
  static async open({ keys, keysFile, jwt }: AccessSettings): Promise<Authenticator> {
    const authenticator = new Authenticator(jwt && (await JwtVerifier.open(jwt)));
    const take = (ofFile: ApiKey[]) => authenticator.#take(checkedKeys([...keys, ...ofFile]));
    if (keysFile === undefined) take([]);
    else authenticator.#file = await KeysFile.open(keysFile, take);
    return authenticator;
  }

  /**
   * Returns the owner: `key:<name>`, or that of a token. Keys come first: a key may have any form.
   *
   * @throws {AccessRefusal} `unauthorized` · `invalid_query`: several credentials · `unavailable`: a token cannot be checked now
   */
  async ownerOf(credential: Credential): Promise<string> {
    if (credential.kind === 'none') throw noCredential();
    if (credential.kind === 'several') throw severalCredentials();
    const key = this.#keyOf(credential.text);
    if (key && key.expiresAt <= Date.now()) throw this.#refusalOf(key);
    if (key) return `key:${key.name}`;
    if (this.jwt && credential.mayBeToken) return this.jwt.ownerOf(credential.text);
    throw invalidCredential('It is no API key of this service.');
  }

  close(): void {
    this.#file?.close();
  }

  #take(keys: ApiKey[]): void {
    this.#keys = keys.map((key) => ({
      ...key,
      digest: Buffer.from(key.sha256, 'hex'),
      expiresAt: expiryOf(key.expires),
    }));
  }

  /** Every digest is compared, so that the time does not depend on which one is equal. */
  #keyOf(text: string): KnownKey | undefined {
    const digest = digestOf(text);
    let found: KnownKey | undefined;
    for (const each of this.#keys) if (timingSafeEqual(each.digest, digest)) found = each;
    return found;
  }

  /** Which key it was is said once, not for each request. */
  #refusalOf({ name, sha256, expires }: KnownKey): AccessRefusal {
    const which = `${sha256.slice(0, 8)}… of "${name}"`;
    if (!this.#expired.has(sha256)) this.#logger.warn(`The API key ${which} has expired (${expires}).`);
    this.#expired.add(sha256);
    return invalidCredential('The API key has expired.');
  }
}
