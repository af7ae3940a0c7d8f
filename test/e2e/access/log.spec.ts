import { createApiKey } from '../../../src/access/index.js';
import { type HandlerFunction, message } from '../../../src/index.js';
import { promise } from '../../promises.js';
import { AUDIENCE, compact, guarded, Issuer, SECRET, secretToken, sendRaw } from '../../support/access.js';
import { describeOnOneAdapter, type Host, startHost } from '../../support/host.js';
import { OperatorLog } from '../../support/operator-log.js';

const sayHi: HandlerFunction = async function* () {
  yield message('Hi');
};

/** What an attacker wants to see in the log, on a line of its own. */
const INJECTED = 'ERROR injected';

describeOnOneAdapter('The log of the operator, on %s', (adapter) => {
  const ann = createApiKey('ann');
  let issuer: Issuer;
  let host: Host;
  let log: OperatorLog;

  beforeAll(async () => {
    issuer = await Issuer.start('https://idp.example');
    const jwt = { jwksUrl: issuer.jwksUrl, secret: SECRET, audience: AUDIENCE };
    const module = guarded(sayHi, { keys: [ann.configured], jwt });
    host = await startHost(adapter, module, (app) => void (log = OperatorLog.of(app)));
  });

  afterAll(async () => {
    await host.close();
    await issuer.close();
  });

  const send = (headers: string) =>
    sendRaw(host.url, `GET /query/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n\r\n`);

  it.each<[string, () => string | Promise<string>]>([
    ['a key that is wrong', () => `X-API-Key: ${createApiKey('a').key}`],
    ['a line feed in a key', () => `X-API-Key: ${ann.key}\n${INJECTED}`],
    ['a carriage return in a key', () => `X-API-Key: ${ann.key}\r${INJECTED}`],
    ['a folded header', () => `X-API-Key: ${ann.key}\r\n ${INJECTED}`],
    ['NUL in a token', () => `Authorization: Bearer ${ann.key}\u0000${INJECTED}`],
    ['NEL in a token', () => `Authorization: Bearer ${ann.key}\u0085${INJECTED}`],
    [
      'a line break in the key id',
      () => `Authorization: Bearer ${compact({ alg: 'RS256', kid: `\n${INJECTED}` }, {})}`,
    ],
    ['a line break in the algorithm', () => `Authorization: Bearer ${compact({ alg: `\n${INJECTED}` }, {})}`],
    [
      'a line break in the header',
      () => `Authorization: Bearer ${compact({ alg: 'RS256', crit: [`\n${INJECTED}`] }, {})}`,
    ],
    ['a header that is no JSON', () => `Authorization: Bearer ${compact(`\n${INJECTED}`, {})}`],
    [
      'a line break in a claim',
      async () =>
        `Authorization: Bearer ${await secretToken({ aud: `\n${INJECTED}`, iss: `\n${INJECTED}` })}`,
    ],
    ['a line break in an address', () => `X-API-Key: wrong\r\nX-Forwarded-For: 1.1.1.1 ${INJECTED}`],
    ['a key of 12 KB', () => `X-API-Key: ${'x'.repeat(12_000)}`],
    ['headers of 20 KB', () => `X-API-Key: ${'x'.repeat(20_000)}`],
    ['several credentials', () => `X-API-Key: ${ann.key}\r\nAuthorization: Bearer ${INJECTED}`],
  ])(promise('access.log', '%s'), async (_, headersOf) => {
    log.lines.length = 0;
    const headers = await headersOf();
    expect(await send(headers)).toMatch(/^HTTP\/1\.1 4(00|01|31) /);
    const credentials = headers
      .split(/[\s:]+/)
      .filter((word) => word.length > 20 && !word.includes('Authorization'));
    for (const line of log.lines) {
      for (const character of '\n\r\u0000\u0085\u2028\u2029') expect(line).not.toContain(character);
      expect(line).not.toContain(INJECTED);
      for (const credential of credentials) expect(line).not.toContain(credential);
    }
    // Node itself refuses bytes that no header may have.
    expect(log.lines.length).toBeLessThanOrEqual(1);
  });

  it(promise('access.log', 'not even one that is valid'), async () => {
    log.lines.length = 0;
    expect(await send(`X-API-Key: ${ann.key}`)).toMatch(/^HTTP\/1\.1 404 /);
    expect(await send(`Authorization: Bearer ${await issuer.token()}`)).toMatch(/^HTTP\/1\.1 404 /);
    expect(log.lines).toEqual([]);
  });
});
