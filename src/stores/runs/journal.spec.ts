import { jest } from '@jest/globals';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import * as fc from 'fast-check';
import { sql } from 'kysely';
import { message, type RunRecord } from '../../query/index.js';
import { admissionOf, eventsOf, keptAnswer, readAll } from '../../testing/store-contract/opened-store.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { SqlRunStore } from './sql-run-store.js';

/** More than write their envelopes into their logs at once. */
const RUNS = 20;
const COMPLETED = { status: 'completed' } as const;
const text = (content: string) => JSON.stringify(message(content));

describe('A file with many runs', () => {
  let directory: string;
  let driver: LibsqlDriver;
  let store: SqlRunStore;
  let runs: RunRecord[];
  const expected = new Map<string, string[]>();

  const open = async () => {
    driver = await LibsqlDriver.open(join(directory, 'runs.db'));
    store = new SqlRunStore(driver);
    await store.open(eventsOf());
  };
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-journal-'));
    await open();
    runs = [];
    expected.clear();
    for (let i = 0; i < RUNS; i++) {
      const session = { id: `talk ${i}`, policy: 'enqueue' as const, maxWaiting: 9 };
      runs.push((await store.admit(admissionOf({ session }))).run);
      expected.set(runs[i]!.id, []);
    }
  });
  afterEach(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });

  const append = async (run: RunRecord, content: string) => {
    expected.get(run.id)!.push(text(content));
    await store.append(run, text(content));
  };
  const appendToAll = (content: string) => Promise.all(runs.map((run) => append(run, content)));
  const rowsOf = async (table: 'log' | 'journal') => {
    const count = driver.db.selectFrom(table).select((of) => of.fn.countAll<number>().as('rows'));
    return (await count.executeTakeFirstOrThrow()).rows;
  };
  const end = (run: RunRecord) => store.end(run, COMPLETED, keptAnswer(''));
  const linesOf = (run: RunRecord) => readAll(store, run);

  it('writes one row for each commit, and one for each run when it ends', async () => {
    for (const content of ['a', 'b', 'c']) await appendToAll(content);
    expect([await rowsOf('journal'), await rowsOf('log')]).toEqual([3, 0]);
    await end(runs[0]!);
    // What it has said, and `done`.
    expect([await rowsOf('journal'), await rowsOf('log')]).toEqual([3, 2]);
    for (const run of runs.slice(1)) await end(run);
    await store.sweep();
    expect([await rowsOf('journal'), await rowsOf('log')]).toEqual([0, 2 * RUNS]);
  });

  it('has a long part of a run in the log of the run', async () => {
    await appendToAll('a');
    await Promise.all(runs.map((run, i) => append(run, i === 0 ? 'long '.repeat(1_000) : 'b')));
    expect([await rowsOf('journal'), await rowsOf('log')]).toEqual([2, 1]);
  });

  it('moves runs that began together one after another', async () => {
    const rows: number[] = [];
    for (let i = 0; i < 50; i++) {
      await appendToAll('x'.repeat(50));
      rows.push(await rowsOf('log'));
    }
    const moved = rows.map((after, i) => after - (rows[i - 1] ?? 0));
    expect(rows.at(-1)).toBeGreaterThanOrEqual(RUNS);
    expect(Math.max(...moved)).toBeLessThan(RUNS / 2);
  });

  it('has the logs of all runs after a restart', async () => {
    for (const content of ['a', 'b']) await appendToAll(content);
    await append(runs[0]!, 'alone');
    await end(runs[1]!);
    await store.close();
    await open();
    expect(await rowsOf('journal')).toBe(0);
    for (const run of runs) expect((await linesOf(run)).slice(0, -1)).toEqual(expected.get(run.id));
  });

  it('has what an earlier version has left as JSON', async () => {
    await appendToAll('a');
    const envelopes = text('a');
    const offsets = { first: 1, last: 1, start_offset: 0, end_offset: envelopes.length };
    const segments = JSON.stringify(runs.map(({ id }) => ({ run_id: id, ...offsets, envelopes })));
    await driver.db.updateTable('journal').set({ segments }).execute();
    await store.close();
    await open();
    for (const run of runs) expect((await linesOf(run)).slice(0, -1)).toEqual([envelopes]);
  });

  it('lists the newest envelope of a run', async () => {
    for (const content of ['a', 'b']) await appendToAll(content);
    const { runs: listed } = await store.runs(runs[0]!.owner, { after: undefined, limit: RUNS });
    expect(listed.map(({ lastSeq }) => lastSeq)).toEqual(runs.map(() => 2));
    expect((await store.queue(runs[0]!.owner, 'talk 0'))[0]!.lastSeq).toBe(2);
  });

  it('keeps nothing of a session that was erased', async () => {
    await Promise.all(runs.map((run, i) => append(run, i === 0 ? 'a-secret' : 'a')));
    await end(runs[0]!);
    expect(await store.erase(runs[0]!.owner, 'talk 0')).toBe(true);
    for (const name of await readdir(directory))
      if (name.startsWith('runs.db'))
        expect((await readFile(join(directory, name))).includes('a-secret')).toBe(false);
    for (const run of runs.slice(1)) expect(await linesOf(run)).toEqual(expected.get(run.id));
  });

  it.each([
    ['is something else', sql.lit('[{'), ['a']],
    ['is cut off', sql`substr(segments, 1, length(segments) - 1)`, ['a', 'b', 'c']],
  ])('starts where a row of the journal %s, with what is before the damage', async (_, damaged, ofFirst) => {
    const errors: string[] = [];
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line: string) => void errors.push(line));
    for (const content of ['a', 'b', 'c']) await appendToAll(content);
    await sql`update journal set segments = ${damaged} where number = 2`.execute(driver.db);
    await store.close();
    await open();
    jest.restoreAllMocks();
    expect(errors).toEqual(['Row 2 of the journal is damaged. Runs go on from what is left of their logs.']);
    // What follows a gap is not shown.
    const contents = async (run: RunRecord) => {
      const lines = await linesOf(run);
      expect(JSON.parse(lines.at(-1)!)).toMatchObject({ type: 'done' });
      return lines.slice(0, -1);
    };
    expect(await contents(runs[0]!)).toEqual(ofFirst.map(text));
    expect(await contents(runs.at(-1)!)).toEqual([text('a')]);
  });

  it('has every log as it was written, whatever is written, read, moved and restarted meanwhile', async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constant('all' as const) },
      { weight: 2, arbitrary: fc.record({ some: fc.array(fc.nat(RUNS - 1), { maxLength: 5 }) }) },
      { weight: 1, arbitrary: fc.record({ long: fc.nat(RUNS - 1) }) },
      { weight: 1, arbitrary: fc.record({ read: fc.nat(RUNS - 1) }) },
      { weight: 1, arbitrary: fc.constant('sweep' as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
        const writing: unknown[] = [];
        for (const [i, each] of steps.entries()) {
          if (each === 'all') writing.push(appendToAll(`${i}`));
          else if (each === 'sweep') writing.push(store.sweep());
          else if ('some' in each) writing.push(...each.some.map((n) => append(runs[n]!, `${i}`)));
          else if ('long' in each) writing.push(append(runs[each.long]!, 'long '.repeat(1_000)));
          else await linesOf(runs[each.read]!);
          if (i % 3 === 0) await Promise.all(writing);
        }
        await Promise.all(writing);
        for (const run of runs) expect(await linesOf(run)).toEqual(expected.get(run.id));
      }),
      { numRuns: 30 },
    );
    await store.close();
    await open();
    for (const run of runs) expect((await linesOf(run)).slice(0, -1)).toEqual(expected.get(run.id));
  });
});
