import { jest } from '@jest/globals';
import { mkdtemp, open as openFile, readdir, readFile, rename, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import * as fc from 'fast-check';
import { casesOf } from '../../../test/support/long-form.js';
import { eventually } from '../../../test/support/conditions.js';
import { message, type RunRecord } from '../../query/index.js';
import {
  admissionOf,
  eventsOf,
  keptAnswer,
  readAll,
} from '../../../packages/store-contract/src/opened-store.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { SqlRunStore } from '../sql-run-store.js';

/** More than are moved at once. */
const RUNS = 20;
const MIB = 1024 * 1024;
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
    const admit = async (_: unknown, i: number) => {
      const session = { id: `talk ${i}`, policy: 'enqueue' as const, maxWaiting: 9 };
      return (await store.admit(admissionOf({ session }))).run;
    };
    runs = await Promise.all(Array.from({ length: RUNS }, admit));
    expected.clear();
    for (const { id } of runs) expected.set(id, []);
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
  /** How many rows the journal and the logs have. */
  const rows = async () => {
    const count = driver.db.selectFrom('log').select((of) => of.fn.countAll<number>().as('rows'));
    return [(await driver.journal.read()).length, (await count.executeTakeFirstOrThrow()).rows];
  };
  const end = (run: RunRecord) => store.end(run, COMPLETED, keptAnswer(''));
  const linesOf = (run: RunRecord) => readAll(store, run);
  const journal = (number: number) => join(directory, `runs.db.journal${number}`);
  /** Where the rows of the first file end, and the zeros begin. */
  const endOfRows = async () => (await readFile(journal(1))).findLastIndex((byte) => byte !== 0) + 1;
  const restart = async () => {
    await store.close();
    await open();
  };

  it('writes one row for each commit, and one for each run when it ends', async () => {
    for (const content of ['a', 'b', 'c']) await appendToAll(content);
    expect(await rows()).toEqual([3, 0]);
    await end(runs[0]!);
    // What it has said, and `done`.
    expect(await rows()).toEqual([3, 2]);
    for (const run of runs.slice(1)) await end(run);
    await store.sweep();
    expect(await rows()).toEqual([0, 2 * RUNS]);
  });

  it('has a long part of a run in the log of the run', async () => {
    await appendToAll('a');
    await Promise.all(runs.map((run, i) => append(run, i === 0 ? 'long '.repeat(14_000) : 'b')));
    expect(await rows()).toEqual([2, 2]);
  });

  it('moves the parts of several runs together', async () => {
    const after: number[] = [0];
    for (let i = 0; i < 80; i++) {
      await appendToAll('x'.repeat(100));
      after.push((await rows())[1]!);
    }
    const moved = after.slice(1).map((count, i) => count - after[i]!);
    expect(new Set(moved)).toEqual(new Set([0, 16]));
  });

  it('has two files of a few megabytes, however much is written', async () => {
    let length = 0;
    while (length < 14 * MIB) {
      await appendToAll('x'.repeat(30_000));
      length += RUNS * 30_000;
      for (const name of [1, 2]) expect((await stat(journal(name))).size).toBeLessThan(6 * MIB);
    }
    for (const run of runs) expect(await linesOf(run)).toEqual(expected.get(run.id));
    await restart();
    for (const run of runs) expect((await linesOf(run)).slice(0, -1)).toEqual(expected.get(run.id));
  });

  it('has the logs of all runs after a restart', async () => {
    for (const content of ['a', 'b']) await appendToAll(content);
    await append(runs[0]!, 'alone');
    await end(runs[1]!);
    await restart();
    expect((await rows())[0]).toBe(0);
    for (const run of runs) expect((await linesOf(run)).slice(0, -1)).toEqual(expected.get(run.id));
  });

  it('has what an earlier version has left in a table', async () => {
    await appendToAll('a');
    const envelope = text('b');
    const parts = runs.map(({ id }) => `2 ${text('a').length} ${2 * envelope.length} ${id}\n${envelope}`);
    await store.sweep();
    await driver.db
      .insertInto('journal')
      .values({ number: 1, segments: parts.join('\n\n') })
      .execute();
    await restart();
    for (const run of runs) expect((await linesOf(run)).slice(0, -1)).toEqual([text('a'), envelope]);
  });

  it('waits while its journal is not there, and goes on when it is back', async () => {
    const told: string[] = [];
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line: string) => void told.push(line));
    jest.spyOn(Logger.prototype, 'log').mockImplementation((line: string) => void told.push(line));
    await appendToAll('a');
    await rename(journal(1), `${journal(1)}.away`);
    const appended: Promise<unknown>[] = [];
    const noticed = eventually(() => told.length === 1);
    // The store checks the path ten times a second.
    while (told.length === 0) {
      appended.push(appendToAll('b'));
      await Promise.race([appended.at(-1), noticed]);
    }
    await rename(`${journal(1)}.away`, journal(1));
    await Promise.all(appended);
    jest.restoreAllMocks();
    const database = `The database ${join(directory, 'runs.db')} can`;
    expect(told[0]).toBe(
      `${database}not be used: the file was deleted or replaced. Put it back, or start the service again. ` +
        'Runs wait for it, and new queries are refused.',
    );
    expect(told[1]!.startsWith(`${database} be used again after `)).toBe(true);
    await restart();
    for (const run of runs) expect((await linesOf(run)).slice(0, -1)).toEqual(expected.get(run.id));
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

  it.each(['nothing', 'zeros'])(
    'starts with what is before the row that a crash has cut off, with %s behind it',
    async (rest) => {
      const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
      for (const content of ['a', 'b']) await appendToAll(content);
      await store.close();
      const end = await endOfRows();
      const { size } = await stat(journal(1));
      await truncate(journal(1), end - 1);
      if (rest === 'zeros') await truncate(journal(1), size);
      await open();
      expect(errors).not.toHaveBeenCalled();
      jest.restoreAllMocks();
      for (const run of runs) expect((await linesOf(run)).slice(0, -1)).toEqual([text('a')]);
    },
  );

  it('starts with what is before a damaged row, and says where it is', async () => {
    const errors: string[] = [];
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line: string) => void errors.push(line));
    await appendToAll('a');
    const length = await endOfRows();
    for (const content of ['b', 'c']) await appendToAll(content);
    await store.close();
    const file = await openFile(journal(1), 'r+');
    await file.write('?', length + 100);
    await file.close();
    await open();
    jest.restoreAllMocks();
    expect(errors).toEqual([
      `The file ${journal(1)} is damaged at byte ${length}. Runs go on from what is left of their logs.`,
    ]);
    for (const run of runs) expect((await linesOf(run)).slice(0, -1)).toEqual([text('a')]);
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
          else if ('long' in each) writing.push(append(runs[each.long]!, 'long '.repeat(4_000)));
          else await linesOf(runs[each.read]!);
          if (i % 3 === 0) await Promise.all(writing);
        }
        await Promise.all(writing);
        for (const run of runs) expect(await linesOf(run)).toEqual(expected.get(run.id));
      }),
      { numRuns: casesOf(30) },
    );
    await restart();
    for (const run of runs) expect((await linesOf(run)).slice(0, -1)).toEqual(expected.get(run.id));
  });
});
