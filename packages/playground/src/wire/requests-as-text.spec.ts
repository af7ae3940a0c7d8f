import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Exchange } from '../state/wire.js';
import { asClientCode } from './as-client-code.js';
import { asCurl } from './as-curl.js';

const run = promisify(execFile);
const ENDPOINT = { name: '', baseUrl: 'http://a/api', path: 'query' };
const STREAM: [string, string] = ['accept', 'text/event-stream'];

function exchange(given: Partial<Exchange>): Exchange {
  return { method: 'GET', url: 'http://a/api/query', headers: [], ...given } as Exchange;
}

const WITH_FILE = exchange({
  method: 'POST',
  headers: [STREAM],
  query: {
    text: 'It costs $5 `now` \\ "ok"',
    files: [{ name: "it's.txt", mimeType: 'text/plain', size: 5 }],
    kwargs: { session_id: 's', a: 1 },
  },
});

describe('A request as curl', () => {
  it('has its headers and its body', () => {
    const shown = exchange({
      method: 'POST',
      headers: [STREAM, ['authorization', 'Bearer <key>']],
      body: `{"a":"it's"}`,
    });
    expect(asCurl(shown)).toBe(
      "curl -N 'http://a/api/query' \\\n  -H 'accept: text/event-stream' \\\n  -H 'authorization: Bearer <key>' \\\n" +
        `  -d '{"a":"it'\\''s"}'`,
    );
  });

  it('has its method where curl does not know it', () => {
    expect(asCurl(exchange({ method: 'DELETE' }))).toBe("curl -X DELETE 'http://a/api/query'");
  });

  it('sends the files of the directory, and every sign as it is', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'as-curl-'));
    await writeFile(join(directory, "it's.txt"), 'Hello');
    const command = asCurl(WITH_FILE).replace(/^curl[^]*?<<QUERY/, 'cat <<QUERY');
    const { stdout } = await run('sh', ['-c', command], { cwd: directory });
    expect(JSON.parse(stdout)).toEqual({
      parts: [
        { type: 'text', text: 'It costs $5 `now` \\ "ok"' },
        { type: 'file', name: "it's.txt", mimeType: 'text/plain', base64: 'SGVsbG8=' },
      ],
      kwargs: { session_id: 's', a: 1 },
    });
    await rm(directory, { recursive: true });
  });
});

describe('A request as client code', () => {
  const codeOf = (given: Partial<Exchange>) =>
    asClientCode(exchange(given), ENDPOINT).split('\n').slice(3).join('\n');

  it('creates the client with the address, the path and a place for the key', () => {
    const headers: [string, string][] = [['Authorization', 'Bearer <key>']];
    expect(
      asClientCode(exchange({ headers }), { ...ENDPOINT, path: 'ask' })
        .split('\n')
        .slice(0, 3),
    ).toEqual([
      "import { AgentQueryClient } from 'nest-agent-query-client';",
      '',
      'const client = new AgentQueryClient({ baseUrl: "http://a/api", path: "ask", headers: { Authorization: "Bearer <key>" } });',
    ]);
  });

  it.each<[Partial<Exchange>, string]>([
    [
      WITH_FILE,
      'for await (const { type, data } of client.ask("It costs $5 `now` \\\\ \\"ok\\"", ' +
        '{ files: ["it\'s.txt"], kwargs: { a: 1 }, sessionId: "s" })) console.log(type, data);',
    ],
    [
      { url: 'http://a/api/query/r', headers: [STREAM, ['last-event-id', 'r.7']] },
      'for await (const { type, data } of client.follow("r", 7)) console.log(type, data);',
    ],
    [{ url: 'http://a/api/query/r' }, 'console.log(await client.run("r"));'],
    [{ url: 'http://a/api/query/r', method: 'DELETE' }, 'console.log(await client.cancel("r"));'],
    [{ url: 'http://a/api/query?session=s' }, 'console.log(await client.runs({ session: "s" }));'],
    [{ url: 'http://a/api/query/inputs' }, 'console.log(await client.openInputs());'],
    [
      {
        url: 'http://a/api/query/r/inputs',
        method: 'POST',
        body: '{"answers":[{"id":"a","outcome":"declined"}]}',
      },
      'console.log(await client.answer("r", [{ id: "a", outcome: "declined" }]));',
    ],
    [{ url: 'http://a/api/query/sessions' }, 'console.log(await client.sessions());'],
    [
      { url: 'http://a/api/query/sessions/a%2Fb?after=3&limit=500' },
      'console.log(await client.session("a/b", { after: 3, limit: 500 }));',
    ],
    [{ url: 'http://a/api/query/sessions/s', method: 'DELETE' }, 'await client.erase("s");'],
    [
      { url: 'http://a/api/query/r/files/f' },
      'const response = await client.file("r", "f");\nconsole.log(await response.text());',
    ],
  ])('calls its method: %#', (given, code) => {
    expect(codeOf(given)).toBe(code);
  });
});
