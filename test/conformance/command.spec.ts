import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { PROMISES } from 'nest-agent-query-conformance';
import { eventuallyElsewhere } from '../support/conditions.js';
import { ROOT } from '../support/documents.js';
import { type CoreService, startCoreService } from './example-program.js';

const MAIN = join(ROOT, 'packages/conformance/dist/main.js');
const CORE = PROMISES.filter(({ level }) => level === 'core');

function start(...parameters: string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, ...parameters], { stdio: ['ignore', 'pipe', 'pipe'] });
}

async function command(...parameters: string[]) {
  const child = start(...parameters);
  const output = Promise.all([text(child.stdout!), text(child.stderr!)]);
  const [code] = (await once(child, 'exit')) as [number | null];
  const [stdout, stderr] = await output;
  return { code, stdout, stderr };
}

describe('The command nest-agent-query-conformance', () => {
  let service: CoreService;
  beforeAll(async () => (service = await startCoreService()));
  afterAll(() => service.stop());

  it('passes the second implementation of the level core, which is in another language', async () => {
    const { code, stdout, stderr } = await command(service.url, '--level', 'core');
    expect([code, stderr]).toEqual([0, '']);
    const lines = CORE.map(({ id, sentence }) => `✓ ${id}  ${sentence}\n`).join('');
    expect(stdout).toMatch(
      new RegExp(`\nEdition 2027-02, levels core: ${CORE.length} passed, 0 failed, 0 skipped, in \\S+ s\n$`),
    );
    expect(stdout.startsWith(lines)).toBe(true);
  });

  it('says what of another level is expected and seen, with the exit code 1', async () => {
    const { code, stdout } = await command(
      service.url,
      '--level=stream',
      '--only=stream.headers',
      '--wait=2',
    );
    expect(code).toBe(1);
    expect(stdout).toContain('✗ stream.headers  ');
    expect(stdout).toContain('    expected: the headers, x-accel-buffering: "no"\n    seen:     nothing\n');
    expect(stdout).toContain('0 passed, 1 failed, 0 skipped');
  });

  it('reports as JSON and as JUnit XML', async () => {
    const [json, junit] = await Promise.all(
      ['json', 'junit'].map((reporter) =>
        command(service.url, '--only', 'core.order', '--reporter', reporter),
      ),
    );
    expect(JSON.parse(json!.stdout)).toMatchObject({
      edition: '2027-02',
      endpoint: `${service.url}/query`,
      results: [{ id: 'core.order', outcome: 'passed' }],
      counts: { passed: 1, failed: 0, skipped: 0 },
    });
    expect(junit!.stdout).toContain('<testcase classname="core" name="core.order: ');
  });

  it('lists the promises of a level', async () => {
    const { code, stdout } = await command('--list', '--level', 'core');
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(0, -1)).toEqual(
      CORE.map(({ id, sentence, section }) => `${id}  ${sentence} (${section})`),
    );
  });

  it.each([
    [[], 'error: give the URL of the endpoint, such as http://127.0.0.1:3000/query\n'],
    [['127.0.0.1:3000'], 'error: "127.0.0.1:3000" is not the URL of a service.'],
    [['http://127.0.0.1:1', '--level', 'cor'], '"cor" is no level. The levels are core, stream, runs,'],
    [['http://127.0.0.1:1', '--only', 'core.no'], 'There is no promise "core.no". --list lists them.'],
    [['http://127.0.0.1:1', '--reporter', 'x'], 'Allowed choices are terminal, json, junit.'],
    [['http://127.0.0.1:1', '--header', 'Bearer'], "Write it like 'Authorization: Bearer …'."],
    [['http://127.0.0.1:1', '--wait', '0'], 'It is a number of seconds, up to 3600.'],
    [
      ['http://127.0.0.1:1'],
      'error: Nothing answers at http://127.0.0.1:1/query as a service does: connect ECONNREFUSED',
    ],
  ])('does not begin with %j, and has the exit code 2', async (parameters, message) => {
    const { code, stdout, stderr } = await command(...parameters);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/\bat .*:\d+:\d+/);
  });

  it('ends what it has begun when it is interrupted, and reports what it has', async () => {
    // Its keep-alives come after 4 s, so the check waits.
    const child = start(service.url, '--only', 'core.order,stream.keep-alive');
    let output = '';
    child.stdout!.on('data', (bytes: Buffer) => (output += bytes.toString()));
    await eventuallyElsewhere(() => output.includes('core.order'));
    child.kill('SIGINT');
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(1);
    expect(output).toContain('1 passed, 0 failed, 0 skipped');
    expect(output).toMatch(/; interrupted\n$/);
  });
});

describe('A report that nobody reads', () => {
  it('ends the checks without a stack trace', async () => {
    const service = await startCoreService();
    const child = start(service.url, '--level', 'core');
    child.stdout!.destroy();
    const errors = text(child.stderr!);
    const [code] = (await once(child, 'exit')) as [number];
    await service.stop();
    expect([code, await errors]).toEqual([1, '']);
  });
});

describe('Services that cannot be checked', () => {
  let server: Server;
  let answer: { status: number; body: string };
  beforeAll(async () => {
    server = createServer((request, response) => {
      request.resume();
      response.writeHead(answer.status, { 'content-type': 'text/plain' }).end(answer.body);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(async () => {
    server.close();
    await once(server, 'close');
  });

  it.each([
    [200, 'data: {"type":"message","data":{"content":"Hello"}}\n\n', 'does not follow scripts'],
    [401, 'No', "was refused with 401: No. Send a credential: --header 'Authorization: Bearer …'."],
    [404, 'Not\u001b[2J found', 'was refused with 404: Not\\u001b[2J found. Give the URL of the endpoint'],
  ])('are told apart: %d', async (status, body, message) => {
    answer = { status, body };
    const { code, stdout, stderr } = await command(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    );
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });
});
