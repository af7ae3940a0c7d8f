import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { type DynamicModule, Module, UseGuards } from '@nestjs/common';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import {
  AccessGuard,
  AccessModule,
  type AccessModuleOptions,
  ownerOf,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
} from '../../src/access/index.js';
import { QueryModule, type QueryModuleOptions, type RunStore } from '../../src/index.js';

/** The claims of a token. One that is undefined is left out. */
type Claims = Record<string, unknown>;

/** A secret that signs tokens. */
export const SECRET = 'a secret that is shared with the issuer of tokens';

export const AUDIENCE = 'agents';

@Module({})
class GuardedModule {}

/** A host's module whose endpoint needs a credential. */
export function guarded(
  handler: QueryModuleOptions['handler'],
  access: AccessModuleOptions,
  rate?: RateLimitModuleOptions,
  store?: RunStore,
): DynamicModule {
  const guards = rate ? [AccessGuard, RateLimitGuard] : [AccessGuard];
  return {
    module: GuardedModule,
    imports: [
      AccessModule.forRoot(access),
      ...(rate ? [RateLimitModule.forRoot(rate)] : []),
      QueryModule.forRoot({
        handler,
        ...(store && { store }),
        runs: { drainMs: 0, stopDeadlineMs: 100 },
        decorators: [UseGuards(...guards)],
        owner: ownerOf,
      }),
    ],
  };
}

/** The header of a bearer token or key. */
export const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });

/** A token that the secret has signed. */
export function secretToken(claims: Claims = {}, alg = 'HS256', secret = SECRET): Promise<string> {
  return signed(new TextEncoder().encode(secret), { alg }, claims);
}

function signed(
  key: Parameters<SignJWT['sign']>[0],
  header: { alg: string; kid?: string },
  claims: Claims,
): Promise<string> {
  const all = { sub: 'ann', aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + 600, ...claims };
  return new SignJWT(all).setProtectedHeader(header).sign(key);
}

/** An issuer of tokens, which publishes its keys on a port of the loopback interface. */
export class Issuer {
  readonly #server: Server;
  #keys: { kid: string; alg: string; privateKey: CryptoKey; publicKey: CryptoKey }[] = [];
  #count = 0;
  /** How often the keys were fetched. */
  fetches = 0;
  /** What the next fetches are answered with instead of the keys: a status, or `cut` for a lost connection. */
  trouble: number | 'cut' | undefined;

  private constructor(readonly name: string) {
    this.#server = createServer((request, response) => {
      this.fetches++;
      if (this.trouble === 'cut') return void request.socket.destroy();
      void this.keySet().then((keys) => {
        response.writeHead(Number(this.trouble ?? 200), {
          'content-type': 'application/json',
          connection: 'close',
        });
        response.end(JSON.stringify(keys));
      });
    });
  }

  /** @param name the claim `iss` of its tokens */
  static async start(name: string): Promise<Issuer> {
    const issuer = new Issuer(name);
    await issuer.rotate();
    issuer.#server.listen(0, '127.0.0.1');
    await once(issuer.#server, 'listening');
    return issuer;
  }

  get jwksUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/keys`;
  }

  /** The key that signs now. */
  get key() {
    return this.#keys.at(-1)!;
  }

  /** What it publishes. */
  async keySet(): Promise<{ keys: object[] }> {
    const keys = this.#keys.map(async ({ kid, publicKey }) => ({
      ...(await exportJWK(publicKey)),
      kid,
      use: 'sig',
    }));
    return { keys: await Promise.all(keys) };
  }

  /** Signs with a new key from now on, and no longer publishes the ones before. */
  async rotate(alg = 'RS256'): Promise<void> {
    const pair = await generateKeyPair(alg, { extractable: true });
    this.#keys = [{ kid: `key-${++this.#count}`, alg, ...pair }];
  }

  /** Publishes another key besides those before, and signs with it. */
  async add(alg = 'RS256'): Promise<void> {
    const before = this.#keys;
    await this.rotate(alg);
    this.#keys = [...before, ...this.#keys];
  }

  token(claims: Claims = {}, header: { alg?: string; kid?: string } = {}): Promise<string> {
    const { kid, alg, privateKey } = this.key;
    return signed(privateKey, { alg, kid, ...header }, { iss: this.name, ...claims });
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

/** A token as an attacker writes it, piece by piece. */
export function compact(
  header: object | string,
  claims: object | string,
  signature = 'c2lnbmF0dXJl',
): string {
  const encode = (part: object | string) =>
    Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
  return `${encode(header)}.${encode(claims)}.${signature}`;
}

/** Sends a request byte by byte as it is given, and returns the response as soon as it contains a text or ends. */
export async function sendRaw(base: string, head: string, until?: string): Promise<string> {
  const socket = connect(Number(new URL(base).port), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  let received = '';
  const closed = once(socket, 'close');
  const arrived = new Promise<void>((resolve) =>
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      if (until !== undefined && received.includes(until)) resolve();
    }),
  );
  socket.write(head, 'latin1');
  await Promise.race([arrived, closed]);
  socket.destroy();
  await closed;
  return received;
}
