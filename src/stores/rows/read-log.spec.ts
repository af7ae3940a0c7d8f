import { setImmediate as tick } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import {
  admissionOf,
  anyText,
  codeOf,
  keptAnswer,
  readAll,
  refusalOf,
} from '../../../packages/store-contract/src/opened-store.js';
import { casesOf } from '../../../test/support/long-form.js';
import { deferred, type Deferred, eventually } from '../../../test/support/conditions.js';
import { CONNECTIONS_OF_SERVICE } from '../../../test/support/postgres.js';
import { type Member, PostgresStores } from '../../../test/support/postgres-stores.js';
import { type LogSlice, message, type RunEnd, type RunRecord } from '../../query/index.js';
import { Database } from '../drivers/database.js';
import { UntoldNews } from '../../query/event-log/untold-news.js';
import { LogReader } from './read-log.js';

const COMPLETED: RunEnd = { status: 'completed' };
const DONE = '{"type":"done","data":{"status":"completed"}}';
const textOf = (content: string) => JSON.stringify(message(content));

const stores = new PostgresStores();
beforeAll(() => {
  Logger.overrideLogger(false);
  return stores.start();
});
afterAll(() => stores.close());

describe('The log of a run that another process executes', () => {
  let writer: Member;
  let reader: Member;
  beforeEach(async () => {
    writer = await stores.open();
    reader = await stores.open();
  });
  afterEach(() => stores.reset());

  const admit = async (owner = 'anonymous') => (await writer.store.admit(admissionOf({ owner }))).run;
  /** Appends envelopes in one commit. */
  const commit = (run: RunRecord, texts: string[]) =>
    Promise.all(texts.map(async (text) => writer.store.append(run, text)));

  it('has exactly the envelopes after any cursor, however they were committed, live and after the end', async () => {
    const length = fc.constantFrom(0, 1, 1, 1, 300, 40_000, 70_000);
    const content = fc.tuple(anyText(fc, { maxLength: 8 }), length);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(content, { minLength: 1, maxLength: 8 }), { maxLength: 8 }),
        fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
        async (commits, cursors) => {
          const run = await admit();
          const log: string[] = [];
          const check = async (isEnded: boolean) => {
            for (const cursor of [...cursors.map((it) => it % (log.length + 1)), log.length]) {
              expect(await readAll(reader.store, run, cursor)).toEqual(log.slice(cursor));
            }
            const endOffset = log.join('').length;
            expect(await reader.store.read(run, log.length)).toEqual({
              first: log.length + 1,
              count: 0,
              lines: '',
              endOffset,
              ended: isEnded,
              newest: true,
            });
          };
          await check(false);
          for (const contents of commits) {
            const texts = contents.map(([text, extra]) => textOf(text + 'é'.repeat(extra)));
            await commit(run, texts);
            log.push(...texts);
            await check(false);
          }
          await writer.store.end(run, COMPLETED, keptAnswer());
          log.push(DONE);
          await check(true);
        },
      ),
      { numRuns: casesOf(8) },
    );
  });

  it('is read as its own process reads it, slice by slice', async () => {
    const run = await admit();
    // Committed one by one: many rows. The process that executes the run keeps the newest 256 KiB in memory.
    const texts = Array.from({ length: 150 }, (_, index) => textOf(`${index} ${'x'.repeat(9 * index)}`));
    for (const text of texts) await writer.store.append(run, text);
    await writer.store.end(run, COMPLETED, keptAnswer());
    for (const { store } of [writer, reader]) {
      let offset = 0;
      for (let after = 0; ;) {
        const slice = await store.read(run, after);
        expect(slice.first).toBe(after + 1);
        offset += slice.lines.length - Math.max(0, slice.count - 1);
        expect(slice.endOffset).toBe(offset);
        expect(slice.lines.length).toBeLessThanOrEqual(64 * 1024 + 1_000);
        expect(slice.lines === '' ? [] : slice.lines.split('\n')).toEqual(
          [...texts, DONE].slice(after, after + slice.count),
        );
        after += slice.count;
        expect(slice.ended).toBe(after === texts.length + 1);
        if (slice.ended) break;
      }
    }
  });

  it('returns an envelope that is longer than a slice alone', async () => {
    const run = await admit();
    const texts = [textOf('a'), textOf('b'.repeat(200_000)), textOf('c')];
    await commit(run, texts);
    const slices: LogSlice[] = [];
    for (let after = 0; after < 3;) {
      const slice = await reader.store.read(run, after);
      slices.push(slice);
      after += slice.count;
    }
    expect(slices.flatMap(({ lines }) => lines.split('\n'))).toEqual(texts);
  });

  it('tells which envelopes are kept when others were trimmed', async () => {
    await stores.reset();
    const retention = { logLength: 200_000 };
    writer = await stores.open({ retention });
    reader = await stores.open({ retention });
    const run = await admit();
    const text = textOf('x'.repeat(1_000));
    for (let i = 0; i < 500; i++) await writer.store.append(run, text);
    await writer.store.sweep();
    const expired = (await refusalOf(() => reader.store.read(run, 0)))!;
    expect(expired).toMatchObject({ code: 'cursor_expired', latest: 500 });
    const { oldest } = expired as { oldest: number };
    expect(oldest).toBeGreaterThan(300);
    expect(await refusalOf(() => writer.store.read(run, 0))).toEqual(expired);
    for (const cursor of [1, oldest - 2])
      expect(await codeOf(() => reader.store.read(run, cursor))).toBe('cursor_expired');
    for (const cursor of [oldest - 1, oldest, 499, 500])
      expect(await readAll(reader.store, run, cursor)).toEqual(Array(500 - cursor).fill(text));
    await writer.store.end(run, COMPLETED, keptAnswer());
    expect(await refusalOf(() => reader.store.read(run, 0))).toMatchObject({ oldest, latest: 501 });
  });

  it('does not exist for another owner, and a run does not that is unknown', async () => {
    const run = await admit('ann');
    await commit(run, [textOf('secret')]);
    const reads = [
      { owner: 'bob', id: run.id },
      { owner: 'anonymous', id: run.id },
      { owner: 'ann\u0000', id: run.id },
      { owner: 'ann', id: 'unknown' },
      { owner: 'ann', id: `${run.id}\u0000` },
      { owner: 'ann', id: "'; drop table runs; --" },
    ];
    const codes = await Promise.all(
      reads.flatMap((ref) => [0, 1, 99].map((after) => codeOf(() => reader.store.read(ref, after)))),
    );
    expect(codes).toEqual(Array(18).fill('not_found'));
    expect(await readAll(reader.store, run)).toEqual([textOf('secret')]);
  });

  it('is read correctly by many followers at once, of many runs, owners and cursors', async () => {
    const runs: RunRecord[] = [];
    for (let i = 0; i < 30; i++) {
      const run = await admit(`owner ${i % 4} "\\`);
      runs.push(run);
      await commit(
        run,
        Array.from({ length: i % 7 }, (_, index) => textOf(`${i} ${index}`)),
      );
      if (i % 5 === 0) await writer.store.end(run, COMPLETED, keptAnswer());
    }
    const answers = await Promise.all(
      runs.flatMap((run, i) =>
        [0, 1, 5, 50].map(async (after) => ({ i, after, slice: await reader.store.read(run, after) })),
      ),
    );
    for (const { i, after, slice } of answers) {
      const log = Array.from({ length: i % 7 }, (_, index) => textOf(`${i} ${index}`));
      const isEnded = i % 5 === 0;
      if (isEnded) log.push(DONE);
      expect(slice).toEqual({
        first: after + 1,
        count: Math.max(0, log.length - after),
        lines: log.slice(after).join('\n'),
        endOffset: log.join('').length,
        ended: isEnded,
        newest: true,
      });
    }
  });

  it('is told by the process that executes it as it is read elsewhere', async () => {
    const run = await admit();
    const untold = new UntoldNews(run, writer.store);
    expect(untold.take()).toBeUndefined();
    await commit(run, [textOf('read')]);
    untold.skip();
    const told: (LogSlice | undefined)[] = [untold.take()];
    const read: LogSlice[] = [await reader.store.read(run, 1)];
    for (const texts of [[textOf('a'), textOf('ä\u2028\n')], [textOf('b')]]) {
      const { first, count } = read.at(-1)!;
      await commit(run, texts);
      told.push(untold.take());
      read.push(await reader.store.read(run, first + count - 1));
    }
    await writer.store.end(run, COMPLETED, keptAnswer());
    told.push(untold.take());
    read.push(await reader.store.read(run, 4));
    expect(told).toEqual(read);
    expect(read.map(({ count, ended }) => [count, ended])).toEqual([
      [0, false],
      [2, false],
      [1, false],
      [1, true],
    ]);
  });

  it('is read on after the reader has lost its connections', async () => {
    const run = await admit();
    await commit(run, [textOf('a')]);
    expect(await readAll(reader.store, run)).toEqual([textOf('a')]);
    await stores.administer(`select pg_terminate_backend(pid) ${CONNECTIONS_OF_SERVICE}`);
    await eventually(async () => (await codeOf(() => writer.store.check())) === 'none');
    expect(await Promise.all([0, 1].map(async (after) => reader.store.read(run, after)))).toMatchObject([
      { count: 1, lines: textOf('a') },
      { count: 0 },
    ]);
  });
});

describe('Reads of one tick', () => {
  const open = async () => {
    const member = await stores.open();
    const database = new Database(member.driver);
    const statements = jest.spyOn(database, 'persist');
    return { member, reads: new LogReader(database), statements };
  };
  afterEach(() => stores.reset());

  it('are one statement if they are equal, and have one result', async () => {
    const { member, reads, statements } = await open();
    const { run } = await member.store.admit(admissionOf());
    await member.store.append(run, textOf('a'));
    const slices = await Promise.all(Array.from({ length: 500 }, () => reads.read(run.owner, run.id, 0)));
    expect(statements).toHaveBeenCalledTimes(1);
    expect(new Set(slices).size).toBe(1);
    expect(slices[0]).toMatchObject({ count: 1, lines: textOf('a') });
  });

  it('are one statement for each 64 that differ', async () => {
    const { member, reads, statements } = await open();
    const runs: RunRecord[] = [];
    for (let i = 0; i < 65; i++) {
      const { run } = await member.store.admit(admissionOf());
      runs.push(run);
      await member.store.append(run, textOf(run.id));
    }
    const slices = await Promise.all([...runs, ...runs].map(({ owner, id }) => reads.read(owner, id, 0)));
    expect(statements).toHaveBeenCalledTimes(2);
    expect(slices.map(({ lines }) => lines)).toEqual([...runs, ...runs].map(({ id }) => textOf(id)));
  });

  it('do not share a result with reads of a later tick', async () => {
    const { member, reads, statements } = await open();
    const { run } = await member.store.admit(admissionOf());
    expect(await reads.read(run.owner, run.id, 0)).toMatchObject({ count: 0 });
    await member.store.append(run, textOf('a'));
    expect(await reads.read(run.owner, run.id, 0)).toMatchObject({ count: 1 });
    expect(statements).toHaveBeenCalledTimes(2);
  });

  it('fail one by one: what one of them does not find, the others get', async () => {
    const { member, reads } = await open();
    const { run } = await member.store.admit(admissionOf());
    await member.store.append(run, textOf('a'));
    const [found, absent, foreign] = await Promise.allSettled([
      reads.read(run.owner, run.id, 0),
      reads.read(run.owner, 'unknown', 0),
      reads.read('ann', run.id, 0),
    ]);
    expect(found).toMatchObject({ value: { count: 1 } });
    for (const refused of [absent, foreign]) expect(refused).toMatchObject({ reason: { code: 'not_found' } });
  });
});

describe('Reads of several ticks', () => {
  it('are two statements at a time, and those that come meanwhile share the next one', async () => {
    const statements: Deferred<never[][]>[] = [];
    const persist = () => {
      const statement = deferred<never[][]>();
      statements.push(statement);
      return statement.promise;
    };
    const reads = new LogReader({ persist, driver: { isShared: true } } as unknown as Database);
    // The statements return no rows for any of their reads.
    const nothing = [[], [], []];
    const results: Promise<unknown>[] = [];
    for (const runId of ['a', 'b', 'c', 'd', 'e']) {
      results.push(expect(reads.read('owner', runId, 0)).rejects.toMatchObject({ code: 'not_found' }));
      await tick();
    }
    expect(statements).toHaveLength(2);
    statements[0]!.resolve(nothing);
    await tick();
    expect(statements).toHaveLength(3);
    statements[1]!.resolve(nothing);
    statements[2]!.resolve(nothing);
    await Promise.all(results);
    await tick();
    expect(statements).toHaveLength(3);
  });
});
