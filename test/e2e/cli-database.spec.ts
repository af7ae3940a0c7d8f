import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file, message, usage } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { promise } from '../promises.js';
import { ask, FULL, get } from '../support/client.js';
import { quickCommand } from '../support/command-line.js';
import { tablesWith } from '../support/database-text.js';
import { type Host, ONE_ADAPTER, startAgent } from '../support/host.js';
import { openDatabase, type TestDatabase } from '../support/postgres.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const SECRET = 'my-secret-words';
const NOTHING = { runs: 0, sessions: 0, files: 0, uploads: 0, usage: 0 };

interface Line {
  type: string;
  [member: string]: unknown;
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

describe('The commands that look after a database', () => {
  let directory: string;
  let sqlite: string;
  let database: TestDatabase;
  let agent: ScriptedAgent;
  let host: Host | undefined;
  let called: number;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-operator-'));
    sqlite = `file:${join(directory, 'runs.db')}`;
    database = await openDatabase();
    called = 0;
  });
  afterEach(async () => {
    await host?.close();
    host = undefined;
    await database.close();
    await rm(directory, { recursive: true });
  });

  const start = async (url: string) => {
    agent = new ScriptedAgent();
    called = 0;
    host = await startAgent(ONE_ADAPTER, agent.handler, {
      store: await openStore(url),
      owner: (asked) => asked.headers['x-caller'] as string,
    });
    return host;
  };
  const stop = async () => {
    await host!.close();
    host = undefined;
  };
  const as = (caller: string) => ({ 'x-caller': caller });
  const answered = async (caller: string, session?: string, finishes = true) => {
    const headers = { ...FULL, ...as(caller) };
    const asked = await ask(host!.url, `${SECRET} ${caller}`, { headers, kwargs: { session_id: session } });
    const call = await agent.call(++called);
    call.emit(message(`${SECRET} answer`));
    call.emit(usage({ inputTokens: 1, outputTokens: 2, model: 'm' }));
    call.emit(
      file({ name: 'answer.txt', mimeType: 'text/plain', content: Buffer.from(SECRET.repeat(9_000)) }),
    );
    await asked.until('answer.txt');
    if (finishes) {
      call.finish();
      await asked.whole();
    }
    return asked;
  };
  const of = (url: string) => ({ DATABASE_URL: url });
  const erased = async (owner: string, url: string) => {
    const { stdout, stderr, code } = await quickCommand(
      ['owners', 'erase', owner, '--yes', '--json'],
      of(url),
    );
    expect(stderr).not.toContain('is watched');
    return [code, JSON.parse(stdout) as object];
  };

  it(promise('cli.owners'), async () => {
    await start(database.url);
    await answered('ann');
    await answered('ann', 's');
    await answered('bob', 's');
    const streaming = await answered('ann', 's', false);
    const listed = await quickCommand(['owners', 'list', '--json'], of(database.url));
    expect(linesOf(listed.stdout)).toEqual([
      { owner: 'ann', module: '', runs: 3, sessions: 1 },
      { owner: 'bob', module: '', runs: 1, sessions: 1 },
    ]);
    expect(listed.stderr).toMatch(/^\S+Z the user ".+" lists the owners, in .+, schema agent_query\n$/);

    const output = join(directory, 'ann');
    const exported = await quickCommand(['owners', 'export', 'ann', '--output', output], of(database.url));
    expect([exported.code, exported.stdout]).toEqual([0, '']);
    const lines = linesOf(await readFile(join(output, 'data.jsonl'), 'utf8'));
    const counts = ['owner', 'session', 'turn', 'run', 'usage', 'file'].map(
      (type) => lines.filter((line) => line.type === type).length,
    );
    expect(counts).toEqual([1, 1, 1, 3, 4, 3]);
    expect(JSON.stringify(lines.filter(({ type }) => type === 'run'))).toContain(`${SECRET} answer`);
    const [name] = await readdir(join(output, 'files'));
    expect(await readFile(join(output, 'files', name!), 'utf8')).toBe(SECRET.repeat(9_000));
    expect(JSON.stringify(lines)).not.toContain('bob');
    const again = await quickCommand(['owners', 'export', 'ann', '-o', output], of(database.url));
    expect(again.code).toBe(2);
    const piped = await quickCommand(['owners', 'export', 'ann', '-o', '-'], of(database.url));
    const [first] = linesOf(piped.stdout).filter(({ type }) => type === 'file');
    expect(Buffer.from(first!['base64'] as string, 'base64').toString()).toBe(SECRET.repeat(9_000));

    const counted = { runs: 3, sessions: 1, files: 1, uploads: 0, usage: 1 };
    expect(await erased('ann', database.url)).toEqual([0, { owner: 'ann', erased: counted }]);
    expect((await streaming.answer()).done).toEqual([{ status: 'cancelled' }]);
    await host!.idle();
    expect(await erased('ann', database.url)).toEqual([0, { owner: 'ann', erased: NOTHING }]);
    expect((await get(host!.url, '/query/sessions/s', as('bob'))).status).toBe(200);
    expect((await get(host!.url, '/query/sessions/s', as('ann'))).status).toBe(404);
    expect(await erased('bob', database.url)).toMatchObject([0, { erased: { runs: 1 } }]);
    expect(await tablesWith(database.url, SECRET)).toEqual([]);
  });

  it(promise('cli.owners', 'not without a confirmation, in a file that is used, or in none'), async () => {
    await start(sqlite);
    await answered('ann');
    const asked = await quickCommand(['owners', 'erase', 'ann'], of(sqlite));
    expect([asked.code, asked.stdout]).toEqual([2, '']);
    const used = await quickCommand(['owners', 'erase', 'ann', '--yes'], of(sqlite));
    expect([used.code, used.stdout]).toEqual([1, '']);
    expect(used.stderr).toContain('another process is using it');
    await stop();
    const missing = await quickCommand(['owners', 'erase', 'ann', '--yes'], of(`${sqlite}.none`));
    expect([missing.code, missing.stderr]).toEqual([
      1,
      `error: There is no database ${directory}/runs.db.none. Name the file of the service.\n`,
    ]);
    expect((await quickCommand(['owners', 'list'])).code).toBe(2);
    expect(await erased('ann', sqlite)).toMatchObject([0, { erased: { runs: 1, files: 1 } }]);
  });

  it(promise('cli.history'), async () => {
    await start(database.url);
    const first = await answered('ann', 's');
    const second = await answered('bob');
    const runs = async (...options: string[]) =>
      linesOf((await quickCommand(['runs', '--json', '--database', database.url, ...options])).stdout);
    expect((await runs()).map(({ id }) => id)).toEqual([second.runId, first.runId]);
    expect((await runs('--owner', 'ann')).map(({ id }) => id)).toEqual([first.runId]);
    expect(await runs('--status', 'failed')).toEqual([]);
    expect(await runs('--to', '2026-01-01')).toEqual([]);
    expect((await runs('--from', '2026-01-01T00:00:00Z', '--limit', '1')).map(({ id }) => id)).toEqual([
      second.runId,
    ]);
    const wrong = await quickCommand(['runs', '--database', database.url, '--from', 'yesterday']);
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      'error: --from is "yesterday". It must be a time such as 2026-11-28 or 2026-11-28T09:00:00Z.\n',
    ]);
    const other = await quickCommand(['runs', '--database', database.url, '--metadata', 'team=sales']);
    expect([other.code, other.stderr]).toEqual([
      2,
      'error: --metadata is not for a database: it lists what a service has.\n',
    ]);

    const shown = await quickCommand(['show', first.runId], of(database.url));
    expect(shown.stdout).toContain('owner     ann\n');
    expect(shown.stdout).toContain(`\n> ${SECRET} ann\n\n${SECRET} answer\n`);
    expect(shown.stderr).toContain(` reads the run "${first.runId}" of the owner "ann", in `);
    const unknown = await quickCommand(['show', '00000000-0000-4000-8000-000000000000'], of(database.url));
    expect([unknown.code, unknown.stdout]).toEqual([2, '']);
  });

  it(promise('cli.copy'), async () => {
    await start(sqlite);
    const { runId } = await answered('ann', 's');
    await answered('ann');
    const usageOf = async () => (await get(host!.url, '/query/usage', as('ann'))).whole();
    const [usageBefore, runs] = [await usageOf(), await (await get(host!.url, '/query', as('ann'))).whole()];
    const { sha256 } = (await (await get(host!.url, `/query/sessions/s`, as('ann'))).whole()).match(
      /"sha256":"(?<sha256>\w+)"/,
    )!.groups as { sha256: string };
    const unfinished = await answered('ann', 't', false);
    await stop();
    await unfinished.whole().catch(() => undefined);
    const copy = () => quickCommand(['copy', sqlite, database.url]);
    const first = await copy();
    expect(first.stdout).toMatch(/^sessions: [^]+\nruns: 3 copied, 0 were there\n/);
    expect(first.stderr).toMatch(/^\S+Z the user ".+" copies all of .+\n$/);
    const repeated = await copy();
    expect(repeated.code).toBe(0);
    expect(repeated.stdout).not.toMatch(/[1-9]\d* copied/);

    await start(database.url);
    expect(await usageOf()).not.toBe('');
    const listed = await (await get(host!.url, '/query', as('ann'))).json<{ runs: { id: string }[] }>();
    const before = JSON.parse(runs) as { runs: { id: string }[] };
    expect(listed.runs.map(({ id }) => id)).toEqual([unfinished.runId, ...before.runs.map(({ id }) => id)]);
    expect((await get(host!.url, `/query/${runId}`, { ...FULL, ...as('ann') })).status).toBe(200);
    const content = await get(host!.url, `/query/${runId}/files/${sha256}`, as('ann'));
    expect(await content.whole()).toBe(SECRET.repeat(9_000));
    expect(usageBefore).toContain('"inputTokens":2');
    expect(await usageOf()).toContain('"inputTokens":3');
    await answered('ann', 's');
    expect((await agent.call(1)).context.history).toHaveLength(1);

    const streaming = await answered('ann', 'u', false);
    const back = () => quickCommand(['copy', database.url, `file:${join(directory, 'back.db')}`]);
    const refused = await back();
    expect([refused.code, refused.stdout]).toEqual([2, '']);
    expect(refused.stderr).toContain(`Runs have not ended: 1, such as ${streaming.runId}.`);
    (await agent.call(2)).finish();
    await streaming.whole();
    await host!.idle();
    expect((await back()).stdout).toMatch(/^sessions: 3 copied[^]+\nruns: 5 copied[^]+\ncontents: 5 copied/);
  });
});
