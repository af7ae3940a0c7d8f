import { once } from 'node:events';
import { connect } from 'node:net';
import { message } from '../../../src/index.js';
import { readEnvironment } from '../../../src/config/index.js';
import { localRequestsOnly } from '../../../src/service/local-requests.js';
import { promise } from '../../promises.js';
import { describeOnBothAdapters, type Host, startAgent } from '../../support/host.js';

const ORIGIN = 'https://app.example.com';
const BODY = '{"parts":[{"type":"text","text":"Hello"}]}';
const ALLOWED = ['Host: localhost:3000'];

describeOnBothAdapters(
  'What strangers let a browser or a proxy send to a service without credentials, on %s',
  (adapter) => {
    let host: Host;
    let calls = 0;
    const handler = async function* () {
      calls++;
      yield message('Hello');
    };

    beforeAll(async () => {
      const middleware = localRequestsOnly(
        readEnvironment({ ALLOWED_HOSTS: 'Agent.local', CORS_ORIGIN: ORIGIN }),
      )!;
      host = await startAgent(adapter, handler, {}, (app) => app.use(middleware));
    });
    afterAll(() => host.close());

    /** Sends a request with these headers alone, and returns all of the response. */
    const send = async (line: string, headers: string[], body = '') => {
      const socket = connect(Number(new URL(host.url).port), '127.0.0.1');
      let response = '';
      socket.on('data', (chunk: Buffer) => (response += chunk.toString()));
      const sent = [`Content-Length: ${body.length}`, 'Content-Type: application/json', 'Connection: close'];
      socket.write([line, ...headers, ...sent, '', body].join('\r\n'));
      await once(socket, 'close');
      return response;
    };

    it.each([
      [['Host: evil.example'], 'ALLOWED_HOSTS'],
      [['Host: localhost.evil.example:3000'], 'ALLOWED_HOSTS'],
      [['Host: 127.0.0.1.evil.example'], 'ALLOWED_HOSTS'],
      [['Host: 192.168.1.7:3000'], 'ALLOWED_HOSTS'],
      [['Host: 0.0.0.0:3000'], 'ALLOWED_HOSTS'],
      [['Host: localhost@evil.example'], 'ALLOWED_HOSTS'],
      [['Host: localhost', 'Host: evil.example'], 'ALLOWED_HOSTS'],
      [['Host: '], 'ALLOWED_HOSTS'],
      [[...ALLOWED, 'Origin: https://evil.example'], 'CORS_ORIGIN'],
      [[...ALLOWED, 'Origin: http://localhost:8080'], 'CORS_ORIGIN'],
      [[...ALLOWED, 'Origin: null'], 'CORS_ORIGIN'],
      [[...ALLOWED, `Origin: ${ORIGIN}`, 'Origin: https://evil.example'], 'CORS_ORIGIN'],
      [[...ALLOWED, 'Sec-Fetch-Site: cross-site'], 'CORS_ORIGIN'],
      [[...ALLOWED, 'Sec-Fetch-Site: cross-site', 'Origin: http://localhost:3000'], 'CORS_ORIGIN'],
      [[...ALLOWED, 'Forwarded: for=203.0.113.9'], 'API_KEYS'],
      [[...ALLOWED, 'X-Forwarded-For: 203.0.113.9'], 'API_KEYS'],
      [[...ALLOWED, 'X-Forwarded-Host: localhost'], 'API_KEYS'],
      [[...ALLOWED, 'X-Forwarded-Proto: https'], 'API_KEYS'],
      [[...ALLOWED, 'X-Real-IP: 203.0.113.9'], 'API_KEYS'],
      [[...ALLOWED, 'Via: 1.1 proxy'], 'API_KEYS'],
    ])(promise('access.local', '%j'), async (headers, variable) => {
      const before = calls;
      for (const [line, body] of [['GET /query HTTP/1.1'], ['POST /query HTTP/1.1', BODY]] as const) {
        const response = await send(line, headers, body);
        expect(response).toMatch(/^HTTP\/1\.1 403 .*\r\nContent-Type: application\/problem\+json\r\n/is);
        expect(response).toContain('"code":"forbidden"');
        expect(response).toContain('The service has no credentials, so it answers this machine only. ');
        for (const named of new Set([variable, 'API_KEYS'])) expect(response).toContain(named);
      }
      expect(calls).toBe(before);
    });

    it.each([
      [['Host: localhost']],
      [['Host: 127.0.0.1:3000']],
      [['Host: 127.9.9.9']],
      [['Host: [::1]:3000']],
      [['Host: app.localhost:5173']],
      [['Host: agent.LOCAL:3000']],
      [[...ALLOWED, 'Origin: http://localhost:3000', 'Sec-Fetch-Site: same-origin']],
      [['Host: localhost:80', 'Origin: http://localhost']],
      [[...ALLOWED, `Origin: ${ORIGIN}`, 'Sec-Fetch-Site: cross-site']],
      [[...ALLOWED, 'Sec-Fetch-Site: none']],
    ])(promise('access.local', 'answers %j'), async (headers) => {
      expect(await send('POST /query HTTP/1.1', headers, BODY)).toContain('"status":"completed"');
    });
  },
);
