import { deferred } from '../../../../test/support/conditions.js';
import { type Kept, Pool } from './pool.js';

const { signal: never } = new AbortController();

function keptOf(log: string[], name: string, gone: Promise<void> = Promise.resolve()) {
  const end = deferred();
  const kept: Kept = {
    ended: end.promise,
    letExit: (mayExit) => void log.push(`${name} ${mayExit ? 'idle' : 'used'}`),
    stop: async () => {
      await gone;
      log.push(`${name} gone`);
    },
  };
  return { kept, end };
}

describe('The pool of processes', () => {
  let log: string[];

  beforeEach(() => (log = []));

  it('keeps a process for the next turn of its session', async () => {
    const pool = new Pool(1, 60_000);
    expect(await pool.take('a', never)).toEqual({ kept: undefined });
    const { kept } = keptOf(log, 'a');
    await pool.keep('a', kept);
    expect(await pool.take('a', never)).toEqual({ kept });
    expect([log, pool.isFree]).toEqual([['a idle', 'a used'], false]);
  });

  it('ends the oldest idle process for a run of another session', async () => {
    const pool = new Pool(2, 60_000);
    for (const name of ['a', 'b']) {
      await pool.take(name, never);
      await pool.keep(name, keptOf(log, name).kept);
    }
    expect(await pool.take('c', never)).toEqual({ kept: undefined });
    expect(log).toEqual(['a idle', 'b idle', 'a used', 'a gone']);
  });

  it('keeps nothing while another run waits', async () => {
    const pool = new Pool(1, 60_000);
    await pool.take('a', never);
    const other = pool.take('b', never);
    await pool.keep('a', keptOf(log, 'a').kept);
    expect([await other, log.at(-1)]).toEqual([{ kept: undefined }, 'a gone']);
  });

  it('starts no second process of a session whose first one has not gone', async () => {
    const pool = new Pool(2, 60_000);
    const gone = deferred();
    await pool.take('a', never);
    await pool.keep('a', keptOf(log, 'a', gone.promise).kept);
    const ended = pool.end('a');
    const next = pool.take('a', never).then(() => log.push('next'));
    expect(pool.isFree).toBe(false);
    gone.resolve();
    await Promise.all([ended, next]);
    expect(log.slice(-2)).toEqual(['a gone', 'next']);
  });

  it('gives the slot back of a process that has ended by itself', async () => {
    const pool = new Pool(1, 60_000);
    await pool.take('a', never);
    const { kept, end } = keptOf(log, 'a');
    await pool.keep('a', kept);
    end.resolve();
    expect(await pool.take('b', never)).toEqual({ kept: undefined });
    expect(log.at(-1)).toBe('a gone');
  });

  it('keeps nothing once it is closed', async () => {
    const pool = new Pool(2, 60_000);
    for (const name of ['a', 'b']) await pool.take(name, never);
    await pool.keep('a', keptOf(log, 'a').kept);
    await pool.close();
    expect(log).toEqual(['a idle', 'a used', 'a gone']);
    await pool.keep('b', keptOf(log, 'b').kept);
    expect([log.at(-1), pool.isFree]).toEqual(['b gone', true]);
  });

  it('gives the slot back though the goodbye has failed, and to nobody who has left', async () => {
    const pool = new Pool(1, 60_000);
    await pool.take('a', never);
    const leaving = new AbortController();
    const left = pool.take('b', leaving.signal);
    leaving.abort();
    expect(await left).toBeUndefined();
    await pool.keep('a', keptOf(log, 'a').kept);
    await expect(pool.end('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect([log.at(-1), pool.isFree]).toEqual(['a gone', true]);
  });
});
