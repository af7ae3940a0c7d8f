import { timingSafeEqual } from 'node:crypto';
import type { AccessSettings } from './access.options.js';
import type { Credential } from './credential.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import { type ApiKey, checkedKeys, digestOf } from './keys/api-key.js';
import { KeysFile } from './keys/keys-file.js';
import { invalidCredential, noCredential, severalCredentials } from './refusals.js';

/** Tells whose a credential is. */
export class Authenticator {
  /** The keys that are valid now. They change with their file. */
  #digests: { name: string; digest: Buffer }[] = [];
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
    const name = this.#nameOf(credential.text);
    if (name !== undefined) return `key:${name}`;
    if (this.jwt && credential.mayBeToken) return this.jwt.ownerOf(credential.text);
    throw invalidCredential('It is no API key of this service.');
  }

  close(): void {
    this.#file?.close();
  }

  #take(keys: ApiKey[]): void {
    this.#digests = keys.map(({ name, sha256 }) => ({ name, digest: Buffer.from(sha256, 'hex') }));
  }

  /** Every digest is compared, so that the time does not depend on which one is equal. */
  #nameOf(key: string): string | undefined {
    const digest = digestOf(key);
    let found: string | undefined;
    for (const each of this.#digests) if (timingSafeEqual(each.digest, digest)) found = each.name;
    return found;
  }
}
