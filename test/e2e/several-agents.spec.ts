import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { promise } from '../promises.js';
import { get, request } from '../support/client.js';
import { eventuallyElsewhere } from '../support/conditions.js';
import { STORE_KINDS } from '../support/long-form.js';
import { openDatabase, type TestDatabase } from '../support/postgres.js';
import { refusalOf, serve, type Service, type SharedService, startService } from '../support/service.js';
import {
  AGENTS,
  askAgent,
  DETACHED,
  directoryWithAgents,
  expectOwnAgents,
  expectRestart,
  settings,
  textOf,
} from '../support/several-agents.js';

let directory: string;
let postgres: TestDatabase;
const services: SharedService[] = [];

beforeAll(async () => {
  postgres = await openDatabase();
});

afterAll(() => postgres.close());

beforeEach(async () => {
  directory = await directoryWithAgents();
});

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.stop()));
  await rm(directory, { recursive: true });
});

async function start(environment: Record<string, string> = {}): Promise<SharedService> {
  const service = await serve(settings(environment), directory);
  services.push(service);
  return service;
}

async function startProcess(environment: Record<string, string>): Promise<Service> {
  const service = await startService(settings(environment), directory);
  services.push(service);
  return service;
}

const databaseOf = (kind: string) => {
  if (kind === 'memory') return 'memory:';
  if (kind === 'file') return `file:${join(directory, 'runs.db')}`;
  return `${postgres.url}?schema=${directory.replace(/.*-/, 'several_').toLowerCase()}`;
};

describe.each(STORE_KINDS)('Several agents of a service with a store: %s', (kind) => {
  it(promise('service.agents', 'runs, sessions, lists and idempotency keys'), async () => {
    const service = await start({ DATABASE_URL: databaseOf(kind) });
    const kwargs = { session_id: 's' };
    const headers = { 'idempotency-key': 'k' };
    const first = await askAgent(service, 'research', 'a', { kwargs, headers });
    expect((await first.answer()).text).toBe('research: a 0');
    expect(await textOf(service, 'support', 'b', { kwargs, headers })).toBe('support: b 0');
    expect(await textOf(service, 'research', 'c', { kwargs })).toBe('research: c 1');
    expect(await textOf(service, 'research', 'a', { kwargs, headers })).toBe('research: a 0');
    const listed = async (name: string) => {
      const runs = await (await get(service.url, `/${name}/query`)).json<{ runs: unknown[] }>();
      const sessions = await (
        await get(service.url, `/${name}/query/sessions`)
      ).json<{ sessions: unknown[] }>();
      return [runs.runs.length, sessions.sessions.length];
    };
    expect([await listed('research'), await listed('support')]).toEqual([
      [2, 1],
      [1, 1],
    ]);
    expect((await get(service.url, `/support/query/${first.runId}`)).status).toBe(404);
    const erased = await request(service.url, { method: 'DELETE', path: '/support/query/sessions/s' });
    expect(erased.status).toBe(204);
    expect(await textOf(service, 'research', 'd', { kwargs })).toBe('research: d 2');
    for (const path of ['/query', '/other/query'])
      expect((await request(service.url, { method: 'POST', path }, '{"parts":[]}')).status).toBe(404);
  });

  it(promise('service.agents', 'files, which are served below the path of their agent'), async () => {
    const service = await start({ DATABASE_URL: databaseOf(kind) });
    const reply = await askAgent(service, 'research', 'file');
    const [, path] = /"path":"([^"]+)"/.exec(await reply.whole())!;
    expect(path).toMatch(new RegExp(`^/research/query/${reply.runId}/files/`));
    expect(await (await get(service.url, path!)).whole()).toBe('of research');
    expect((await get(service.url, path!.replace('research', 'support'))).status).toBe(404);
  });

  // What lies in the memory of a process ends with it, and the test of Postgres is `cluster/several-agents.spec.ts`.
  if (kind !== 'file') return;

  it(promise('service.agents', 'a restart gives each run to its own agent'), async () => {
    const environment = { DATABASE_URL: databaseOf(kind), MAX_RUNNING: '1' };
    await expectRestart(await startProcess(environment), environment, start);
  });
});

describe('Several agents of a service', () => {
  it(promise('service.agents', 'each process gives runs to their own agent: queue'), async () => {
    const queue = `${postgres.url}?queue=${directory.replace(/.*-/, 'q')}`;
    const environment = { DATABASE_URL: databaseOf('postgres'), QUEUE_URL: queue, MAX_RUNNING: '1' };
    await start({ ...environment, ROLE: 'worker' });
    await expectOwnAgents(environment, start);
  });

  it(promise('service.agents-variables', 'of two programs'), async () => {
    const service = await start({
      AGENTS: 'first=command,second-one=command,third=./research.mjs',
      COMMAND: 'echo shared "${FIRST__COMMAND-nothing}" "${COMMAND-nothing}"; echo line >&2',
      SECOND_ONE__COMMAND: 'echo own; cat',
      SECOND_ONE__MAX_PARTS: '1',
    });
    expect(await textOf(service, 'first', 'a')).toBe('shared nothing nothing\n');
    expect(await textOf(service, 'second-one', 'a')).toMatch(/^own\n\{/);
    const parts = [1, 2].map(() => ({ type: 'text', text: 'a' }));
    const two = (name: string) => request(service.url, { path: `/${name}/query` }, JSON.stringify({ parts }));
    expect([(await two('first')).status, (await two('second-one')).status]).toEqual([200, 413]);
  });

  it(promise('service.agents-variables', 'each has its own slots'), async () => {
    const service = await start({ RESEARCH__MAX_RUNNING: '1', RESEARCH__MAX_WAITING: '1', DRAIN_MS: '0' });
    for (const text of ['hold', 'wait'])
      expect((await askAgent(service, 'research', text, { headers: DETACHED })).status).toBe(202);
    const refused = await askAgent(service, 'research', 'more', { headers: DETACHED });
    expect([refused.status, await refused.json()]).toEqual([
      503,
      expect.objectContaining({ code: 'at_capacity' }),
    ]);
    expect(await textOf(service, 'support', 'beside')).toBe('support: beside 0');
  });

  it(promise('service.agents-shared', 'credentials and the rate of queries'), async () => {
    const key = 'naq_' + 'a'.repeat(43);
    const API_KEYS = `ann:${createHash('sha256').update(key).digest('hex')}`;
    const service = await start({ API_KEYS, QUERIES_PER_MINUTE: '2' });
    const headers = { authorization: `Bearer ${key}` };
    for (const name of ['research', 'support']) {
      expect((await askAgent(service, name, 'a')).status).toBe(401);
      expect(await textOf(service, name, 'a', { headers })).toBe(`${name}: a 0`);
    }
    for (const name of ['research', 'support'])
      expect((await askAgent(service, name, 'a', { headers })).status).toBe(429);
  });

  it(promise('service.agents-shared', 'the start message, the log, metrics and health'), async () => {
    await writeFile(
      join(directory, 'support.mjs'),
      'export default function () { throw new Error("broken"); }',
    );
    const service = await startProcess({});
    expect(service.output()).toContain('\n  agents  research=./research.mjs, support=./support.mjs\n');
    for (const name of ['research', 'support'])
      expect(service.output()).toContain(`"kwargs":{}}' ${service.url}/${name}/query\n`);
    await textOf(service, 'research', 'a');
    await textOf(service, 'support', 'a');
    const entries = [
      'Query admitted: module=research ',
      'Run ended: module=research ',
      'Query admitted: module=support ',
      '[Runner support] Run ',
    ];
    await eventuallyElsewhere(() => entries.every((entry) => service.output().includes(entry)));
    expect(await (await get(service.url, '/health/ready')).json()).toEqual({ status: 'ready' });
    const metrics = await (await get(service.url, '/metrics')).whole();
    expect(metrics).toContain('agent_query_runs_ended_total{module="research",status="completed"} 1\n');
    expect(metrics).toContain('agent_query_runs_ended_total{module="support",status="failed"} 1\n');
    const connection = new Agent({ keepAlive: true, maxSockets: 1 });
    const held = await askAgent(service, 'research', 'hold', { headers: DETACHED, agent: connection });
    await held.whole();
    const stopped = service.stop();
    await eventuallyElsewhere(() => service.output().includes('Runs: 1 executing, 0 waiting.'));
    // All agents drain at once.
    for (const name of ['research', 'support']) {
      const refusal = await askAgent(service, name, 'a', { agent: connection });
      expect(await refusal.json()).toMatchObject({ code: 'draining' });
    }
    const path = held.headers.location!;
    await (await request(service.url, { method: 'DELETE', path, agent: connection })).whole();
    expect(await stopped).toBe(0);
  });

  it(promise('service.openapi', 'of a process that executes only'), async () => {
    const { url, routes } = await start({ DATABASE_URL: databaseOf('postgres'), ROLE: 'worker' });
    const { paths } = await (await get(url, '/openapi.json')).json<{ paths: object }>();
    const described = Object.keys(paths).map((path) => `GET ${path.replace('{name}', ':name')}`);
    expect(described.sort()).toEqual(routes!.filter((route) => route.startsWith('GET ')).sort());
  });

  it(promise('service.agents-shared', 'a reload of one agent is none of another'), async () => {
    const counted = (name: string) => `globalThis.${name} = (globalThis.${name} ?? 0) + 1;
      export default async function* () { yield { type: 'message', data: { content: '${name} ' + globalThis.${name} } }; }`;
    for (const name of ['research', 'support'])
      await writeFile(join(directory, `${name}.mjs`), counted(name));
    const service = await start({ WATCH: 'true' });
    expect(await textOf(service, 'research', 'a')).toBe('research 1');
    await writeFile(join(directory, 'research.mjs'), `${counted('research')}\n`);
    await eventuallyElsewhere(async () => (await textOf(service, 'research', 'a')) === 'research 2');
    expect(await textOf(service, 'support', 'a')).toBe('support 1');
  });

  it.each<[Record<string, string>, string]>([
    [{ AGENTS, AGENT: 'files' }, 'AGENT and AGENTS are both set. Unset one of them.'],
    [{ AGENTS: ' , ' }, 'AGENTS names no agent. Write name=agent, or unset it.'],
    [
      { AGENTS: './a.mjs' },
      'AGENTS has the entry "./a.mjs"; an entry is name=agent, such as research=./research.mjs.',
    ],
    [{ AGENTS: 'a=' }, 'AGENTS has the entry "a"; an entry is name=agent'],
    [
      { AGENTS: 'A=files' },
      'AGENTS has the name "A". A name is a part of a URL: it begins with a letter from a to z',
    ],
    [{ AGENTS: 'a/b=files' }, 'AGENTS has the name "a/b". A name is a part of a URL'],
    [{ AGENTS: 'a--b=files' }, 'AGENTS has the name "a--b". A name is a part of a URL'],
    [{ AGENTS: '=files' }, 'AGENTS has the name "". A name is a part of a URL'],
    [
      { AGENTS: 'metrics=files' },
      'AGENTS has the name "metrics", which is a path of the service. Use another.',
    ],
    [{ AGENTS: 'a=files,a=files' }, 'AGENTS has the name "a" more than once.'],
    [{ AGENTS: 'a=command' }, 'The agent "a" is "command", which needs A__COMMAND.'],
    [{ AGENTS: 'a=remote' }, 'The agent "a" is "remote", which needs A__REMOTE_URL.'],
    [{ AGENTS: 'a=files', A__COMMAND: 'true' }, 'A__COMMAND has no effect: the agent "a" is not "command".'],
    [{ AGENTS: 'a=files', COMMAND: 'true' }, 'COMMAND has no effect without AGENT=command.'],
    [{ AGENTS: 'a=files', A__PORT: '1' }, 'A__PORT has no effect: PORT is the same for all agents.'],
    [
      { AGENTS: 'a=files', A__MAX_PART: '1' },
      'A__MAX_PART is not a variable of an agent. Rename or unset it.',
    ],
    [
      { AGENTS: 'a=files', A__MAX_PARTS: '0' },
      'A__MAX_PARTS is 0; it must be a whole number from 1 to 1000000.',
    ],
    [{ AGENTS: 'a=files', B__MAX_PARTS: '1' }, 'B__MAX_PARTS is for an agent that AGENTS does not have.'],
    [{ AGENTS: 'a=files', WATCH: 'true' }, 'WATCH and --watch have no effect'],
    [{ AGENTS: 'a=files', A__WATCH: 'true' }, 'A__WATCH has no effect: the agent "a" is no module.'],
    [
      { AGENTS: 'a=./no.mjs' },
      'The agent "a" of AGENTS is "./no.mjs"; it must be "files", "model", "command", "acp", "remote" or the path',
    ],
  ])(promise('service.environment', '%j'), async (environment, sentence) => {
    const { message, exitCode } = await refusalOf(environment, directory);
    expect(exitCode).not.toBe(0);
    expect(message).toContain(`nest-agent-query cannot start.\n${sentence}`);
  });
});
