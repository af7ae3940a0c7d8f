import { createHmac } from 'node:crypto';
import { CompactSign, type CryptoKey, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { createApiKey } from '../../../src/access/index.js';
import { message } from '../../../src/index.js';
import { promise } from '../../promises.js';
import { AUDIENCE, bearer, compact, guarded, Issuer, SECRET, secretToken } from '../../support/access.js';
import { ask } from '../../support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../../support/host.js';
import { OperatorLog } from '../../support/operator-log.js';

const ISSUER = 'https://idp.example';

async function* sayHi() {
  yield message('Hi');
}

const now = () => Math.floor(Date.now() / 1000);
const CLAIMS = { sub: 'ann', iss: ISSUER, aud: AUDIENCE, exp: now() + 600 };

/** A token whose claims are this JSON, with members that `JSON.stringify` cannot write. */
const tokenOfJson = (members: string) =>
  new CompactSign(Buffer.from(`${JSON.stringify(CLAIMS).slice(0, -1)},${members}}`))
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(SECRET));

/** Attacks on tokens, and what the operator reads of each. */
const ATTACKS: [name: string, token: (issuer: Issuer) => string | Promise<string>, reason: string][] = [
  [
    'the algorithm none',
    () => compact({ alg: 'none' }, CLAIMS, ''),
    'It is no API key of this service, and no JWT.',
  ],
  ['none with a signature', () => compact({ alg: 'none' }, CLAIMS), 'its algorithm is not accepted'],
  ['none in other letters', () => compact({ alg: 'nOnE' }, CLAIMS), 'its algorithm is not accepted'],
  ['no algorithm', () => compact({}, CLAIMS), 'it does not have the form of a JWT'],
  [
    'the public key as the secret',
    async (issuer) => {
      const secret = await exportSPKI(issuer.key.publicKey);
      const signed = compact({ alg: 'HS256', kid: issuer.key.kid }, CLAIMS).replace(/\.[^.]*$/, '');
      return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
    },
    'its signature is wrong',
  ],
  ['a secret that was guessed', () => secretToken(CLAIMS, 'HS256', 'x'.repeat(32)), 'its signature is wrong'],
  [
    'an algorithm that the secret is too short for',
    () => secretToken(CLAIMS, 'HS512'),
    'its algorithm is not accepted',
  ],
  [
    'a key id that is unknown',
    (issuer) => issuer.token({}, { kid: 'other' }),
    'no key of the issuer matches it',
  ],
  [
    'the key id of another key',
    async (issuer) => {
      const { privateKey } = await generateKeyPair('RS256');
      return new SignJWT(CLAIMS).setProtectedHeader({ alg: 'RS256', kid: issuer.key.kid }).sign(privateKey);
    },
    'its signature is wrong',
  ],
  [
    'a key of its own in the header',
    async (issuer) => {
      const { privateKey } = await generateKeyPair('ES256');
      const header = { alg: 'ES256', jku: issuer.jwksUrl, jwk: { kty: 'EC' } };
      return new SignJWT(CLAIMS).setProtectedHeader(header).sign(privateKey);
    },
    'no key of the issuer matches it',
  ],
  [
    'an extension that is unknown',
    () => compact({ alg: 'RS256', crit: ['x'], x: 1 }, CLAIMS),
    'uses an algorithm or an extension',
  ],
  [
    'a claim that was changed',
    async (issuer) => {
      const [header, , signature] = (await issuer.token()).split('.');
      return [
        header,
        Buffer.from(JSON.stringify({ ...CLAIMS, sub: 'bob' })).toString('base64url'),
        signature,
      ].join('.');
    },
    'its signature is wrong',
  ],
  ['a time in the past', (issuer) => issuer.token({ exp: now() - 6 }), 'it has expired'],
  ['no time of its end', (issuer) => issuer.token({ exp: undefined }), 'its claim "exp" is missing or wrong'],
  [
    'a time that is a text',
    (issuer) => issuer.token({ exp: '9999999999' }),
    'its claim "exp" is missing or wrong',
  ],
  ['an end without bound', () => tokenOfJson('"exp":1e400'), 'its claim "exp" is missing or wrong'],
  [
    'an end beyond the safe integers',
    (issuer) => issuer.token({ exp: 2 ** 53 }),
    'its claim "exp" is missing or wrong',
  ],
  ['a begin without bound', () => tokenOfJson('"nbf":-1e400'), 'its claim "nbf" is missing or wrong'],
  ['a time of issue without bound', () => tokenOfJson('"iat":1e400'), 'its claim "iat" is missing or wrong'],
  [
    'a time of issue that is a text',
    (issuer) => issuer.token({ iat: 'now' }),
    'its claim "iat" is missing or wrong',
  ],
  [
    'a begin in the future',
    (issuer) => issuer.token({ nbf: now() + 60 }),
    'its claim "nbf" is missing or wrong',
  ],
  ['another issuer', (issuer) => issuer.token({ iss: `${ISSUER}/` }), 'its claim "iss" is missing or wrong'],
  ['no issuer', (issuer) => issuer.token({ iss: undefined }), 'its claim "iss" is missing or wrong'],
  [
    'another audience',
    (issuer) => issuer.token({ aud: ['others', 'agents2'] }),
    'its claim "aud" is missing or wrong',
  ],
  ['no audience', (issuer) => issuer.token({ aud: undefined }), 'its claim "aud" is missing or wrong'],
  ['no subject', (issuer) => issuer.token({ sub: undefined }), 'its claim "sub" is missing or wrong'],
  ['an empty subject', (issuer) => issuer.token({ sub: '' }), 'its claim "sub" is missing or wrong'],
  [
    'a subject that is an object',
    (issuer) => issuer.token({ sub: { a: 1 } }),
    'its claim "sub" is missing or wrong',
  ],
  [
    'claims that are no object',
    (issuer) => compact({ alg: 'RS256', kid: issuer.key.kid }, '"ann"'),
    'its signature is wrong',
  ],
  ['a header that is no JSON', () => compact('{', CLAIMS), 'it does not have the form of a JWT'],
  ['five parts', () => `${compact({ alg: 'dir' }, '')}.a.b`, 'no JWT'],
  [
    '12 KB',
    (issuer) => issuer.token({ sub: undefined, x: 'x'.repeat(9_000) }),
    'its claim "sub" is missing or wrong',
  ],
];

describeOnOneAdapter('Attacks on tokens, on %s', (adapter) => {
  const key = createApiKey('ann');
  let issuer: Issuer;
  let host: Host;
  let log: OperatorLog;

  beforeAll(async () => {
    issuer = await Issuer.start(ISSUER);
    const access = {
      keys: [key.configured],
      jwt: { jwksUrl: issuer.jwksUrl, secret: SECRET, issuer: ISSUER, audience: AUDIENCE },
    };
    host = await startHost(adapter, guarded(sayHi, access), (app) => void (log = OperatorLog.of(app)));
  });

  afterAll(async () => {
    await host.idle();
    await host.close();
    await issuer.close();
  });

  it.each(ATTACKS)(promise('access.forged', '%s'), async (_, tokenOf, reason) => {
    const token = await tokenOf(issuer);
    log.lines.length = 0;
    const reply = await ask(host.url, 'Hi', { headers: bearer(token) });
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([
      401,
      'Bearer realm="nest-agent-query", error="invalid_token"',
    ]);
    expect(await reply.whole()).not.toContain(reason);
    expect(log.lines).toEqual([expect.stringContaining(reason)]);
    expect(log.lines[0]).toMatch(/^warn A credential from 127\.0\.0\.1 was refused\. [\w ":.,]+ Access$/);
  });

  it(promise('access.forged', 'but not within the clock tolerance'), async () => {
    for (const claims of [{ exp: now() - 2 }, { nbf: now() + 3 }]) {
      const reply = await ask(host.url, 'Hi', { headers: bearer(await issuer.token(claims)) });
      expect(reply.status).toBe(200);
      await reply.whole();
    }
  });

  it(promise('access.forged', 'but not where its times have fractions of a second'), async () => {
    const claims = { exp: now() + 600.5, nbf: now() - 0.5, iat: now() - 0.5 };
    const reply = await ask(host.url, 'Hi', { headers: bearer(await issuer.token(claims)) });
    expect(reply.status).toBe(200);
    await reply.whole();
  });

  it(promise('access.forged', 'without a key id, where several keys match'), async () => {
    const other = await Issuer.start(ISSUER);
    const { kid, privateKey } = other.key;
    await other.add();
    const own = await startHost(adapter, guarded(sayHi, { jwt: { jwksUrl: other.jwksUrl } }));
    const statusOf = async (token: string) => {
      const reply = await ask(own.url, 'Hi', { headers: bearer(token) });
      await reply.whole();
      return reply.status;
    };
    const sign = (by: CryptoKey) => new SignJWT(CLAIMS).setProtectedHeader({ alg: 'RS256' }).sign(by);
    expect(kid).not.toBe(other.key.kid);
    expect(await statusOf(await sign(privateKey))).toBe(200);
    expect(await statusOf(await sign(other.key.privateKey))).toBe(200);
    expect(await statusOf(await sign((await generateKeyPair('RS256')).privateKey))).toBe(401);
    await own.close();
    await other.close();
  });
});
