import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { QueryError } from '../../query/index.js';
import type { Db } from '../schema/tables.js';
import { GroupCommit } from './group-commit.js';
import { SqliteDb, SqliteThread } from './sqlite-thread.js';

describe('Work on a SQLite file', () => {
  let directory: string;
  let thread: SqliteThread;
  let groups: GroupCommit;
  /** The statements that were passed in each tick. */
  let statements: string[][];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-groups-'));
    thread = await SqliteThread.start(join(directory, 'runs.db'));
    await thread.execute('create table notes (text text primary key)', []);
    statements = [];
    let tick: string[] | undefined;
    const execute = (text: string, parameters: readonly unknown[]) => {
      if (!tick) {
        statements.push((tick = []));
        process.nextTick(() => (tick = undefined));
      }
      tick.push(text);
      return thread.execute(text, parameters);
    };
    groups = new GroupCommit(new SqliteDb(execute), execute);
  });

  afterEach(async () => {
    await thread.end();
    await rm(directory, { recursive: true });
  });

  const note = (db: Db, text: string) => sql`insert into notes values (${text})`.execute(db);
  const notes = async () => {
    const { rows } = await groups.executeAlone('select text from notes order by text', []);
    return (rows as { text: string }[]).map(({ text }) => text);
  };
  const outcomes = async (work: Promise<unknown>[]) => {
    const settled = await Promise.allSettled(work);
    return settled.map((one) => (one.status === 'fulfilled' ? 'done' : (one.reason as Error).message));
  };

  it('goes to the thread and back once for all steps of a tick that pass their statements at once', async () => {
    const steps = ['a', 'b', 'c'].map((text) =>
      groups.commit(async (db) => void (await Promise.all([note(db, text), note(db, `${text}2`)])), true),
    );
    await Promise.all(steps);
    const insert = 'insert into notes values (?)';
    expect(statements).toEqual([['begin immediate', ...Array<string>(6).fill(insert), 'commit']]);
    expect(await notes()).toEqual(['a', 'a2', 'b', 'b2', 'c', 'c2']);
  });

  it('is committed for each step but the one that fails', async () => {
    const atOnce = (text: string) => groups.commit((db) => note(db, text), true);
    const slow = groups.commit(async (db) => {
      await note(db, 'd');
      await note(db, 'e');
    });
    expect(await outcomes([atOnce('a'), atOnce('b'), atOnce('a'), slow, atOnce('c')])).toEqual([
      'done',
      'done',
      'UNIQUE constraint failed: notes.text',
      'done',
      'done',
    ]);
    expect(await notes()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('is not committed at all if its second statement fails', async () => {
    const both = (first: string, second: string) =>
      groups.commit(async (db) => void (await Promise.all([note(db, first), note(db, second)])), true);
    const failing = both('a', 'a');
    const defective = groups.commit((db) => {
      note(db, 'c').catch(() => undefined);
      throw new TypeError('a defect');
    }, true);
    expect(await outcomes([failing, defective, both('x', 'y')])).toEqual([
      'UNIQUE constraint failed: notes.text',
      'a defect',
      'done',
    ]);
    expect(await notes()).toEqual(['x', 'y']);
  });

  it('is committed beside a step that refuses', async () => {
    const refusing = groups.commit(async () => {
      throw new QueryError('session_busy', 'A refusal.');
    });
    expect(await outcomes([refusing, groups.commit((db) => note(db, 'a'), true)])).toEqual([
      'A refusal.',
      'done',
    ]);
    expect(await notes()).toEqual(['a']);
  });

  it('is not seen by others before it is committed', async () => {
    let seen: Promise<string[]> | undefined;
    const step = groups.commit(async (db) => {
      await note(db, 'a');
      seen = notes();
      await note(db, 'b');
      throw new TypeError('a defect');
    });
    await expect(step).rejects.toThrow('a defect');
    expect(await seen).toEqual([]);
  });

  it('is not written outside of a transaction when none can begin', async () => {
    await thread.execute('begin', []);
    expect(await outcomes([groups.commit((db) => note(db, 'a'), true)])).toEqual([
      'cannot start a transaction within a transaction',
    ]);
    expect(await notes()).toEqual([]);
  });
});
