import type { AccessSettings } from './access.options.js';
import type { Credential } from './credential.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import { checkedKeys } from './keys/api-key.js';
import { KeyRing } from './keys/key-ring.js';
import { KeysFile } from './keys/keys-file.js';
import { invalidCredential, noCredential, severalCredentials } from './refusals.js';

/** Tells whose a credential is. */
export class Authenticator {
  private constructor(
    private readonly keys: KeyRing,
    private readonly file: KeysFile | undefined,
    private readonly jwt: JwtVerifier | undefined,
  ) {}

  /** @throws {Error} the file of keys is not usable, or a package is missing */
  static async open({ keys, keysFile, jwt }: AccessSettings): Promise<Authenticator> {
    const ring = new KeyRing(keys);
    const verifier = jwt && (await JwtVerifier.open(jwt));
    const file =
      keysFile === undefined
        ? undefined
        : await KeysFile.open(keysFile, (ofFile) => ring.replace(checkedKeys([...keys, ...ofFile])));
    return new Authenticator(ring, file, verifier);
  }

  /**
   * Returns the owner: `key:<name>`, or that of a token. Keys come first: a key may have any form.
   *
   * @throws {AccessRefusal} `unauthorized` · `invalid_query`: several credentials · `unavailable`: a token cannot be checked now
   */
  async ownerOf(credential: Credential): Promise<string> {
    if (credential.kind === 'none') throw noCredential();
    if (credential.kind === 'several') throw severalCredentials();
    const name = this.keys.nameOf(credential.text);
    if (name !== undefined) return `key:${name}`;
    if (this.jwt && credential.mayBeToken) return this.jwt.ownerOf(credential.text);
    throw invalidCredential('It is no API key of this service.');
  }

  close(): void {
    this.file?.close();
  }
}
