import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { jest } from '@jest/globals';
import { startMcp } from '../../../test/protocols/mcp-host.js';
import { type Host, ONE_ADAPTER } from '../../../test/support/host.js';
import { handler, TOOLS } from './conformance-agent.js';

const SUITE = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js');
const EXPECTED = fileURLToPath(new URL('expected-failures.yml', import.meta.url));

interface Message {
  method?: string;
  params: { name: string; arguments?: object };
}

/** Passes on what the suite sends. The arguments of its tools are kwargs of ours, and the text names the tool. */
function proxyTo(url: string): http.Server {
  return http.createServer((request, response) => {
    const pass = async () => {
      const message = request.method === 'POST' ? ((await json(request)) as Message) : undefined;
      if (message?.method === 'tools/call') {
        const { name, arguments: kwargs = {} } = message.params;
        message.params.arguments = { text: name, kwargs };
      }
      const body = message && JSON.stringify(message);
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const headers = { ...request.headers, ...length };
      const passed = http.request(url + request.url!, { method: request.method!, headers });
      passed.once('response', (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        response.flushHeaders();
        answer.pipe(response);
      });
      passed.on('error', () => response.destroy());
      response.once('close', () => passed.destroy());
      passed.end(body);
    };
    pass().catch(() => response.destroy());
  });
}

// On a busy machine, the client of the suite reports `fetch failed` now and then, in any scenario. What fails again is a fault.
jest.retryTimes(2, { logErrorsBeforeRetry: true });

describe('The conformance suite of MCP', () => {
  let host: Host;
  let proxy: http.Server;
  beforeAll(async () => {
    host = await startMcp(ONE_ADAPTER, handler, {}, { tools: TOOLS });
    proxy = proxyTo(host.url).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  afterAll(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await host.close();
  });

  it.each(['2025-11-25', '2026-07-28'])(
    'finds what the version %s requires, but for what is not offered',
    async (version) => {
      const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
      const parameters = ['server', '--url', url, '--requirements', version, '--expected-failures', EXPECTED];
      const child = spawn(process.execPath, [SUITE, ...parameters], { stdio: ['ignore', 'pipe', 'inherit'] });
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk));
      const [code] = (await once(child, 'close')) as [number];
      if (code !== 0) throw new Error(output);
    },
    300_000,
  );
});
