import { jest } from '@jest/globals';
import { postgresStores } from '../../../test/support/postgres-stores.js';
import { Database } from './database.js';
import { PostgresSignals } from './postgres-signals.js';

const stores = postgresStores();

/** The pauses that a process makes, in milliseconds, with one part of each that is left to chance. */
function pausesWith(chance: number): number[] {
  const pauses: number[] = [];
  jest.spyOn(Math, 'random').mockReturnValue(chance);
  const setTimer = globalThis.setTimeout;
  jest.spyOn(globalThis, 'setTimeout').mockImplementation((callback: () => void, milliseconds?: number) => {
    pauses.push(milliseconds ?? 0);
    return setTimer(callback, milliseconds);
  });
  return pauses;
}

describe('Processes that have failed together', () => {
  afterEach(() => jest.restoreAllMocks());

  it('do not repeat a transaction together that Postgres asks them to repeat', async () => {
    const { driver } = await stores.open();
    const random = jest.spyOn(Math, 'random');
    let attempts = 0;
    const done = await driver.transact(async () => {
      if (++attempts < 4) throw Object.assign(new Error('could not serialize'), { code: '40001' });
      return attempts;
    });
    expect(done).toBe(4);
    expect(random).toHaveBeenCalledTimes(3);
  });

  it('do not write again together after an outage', async () => {
    const { driver } = await stores.open();
    const random = jest.spyOn(Math, 'random');
    let attempts = 0;
    await new Database(driver).persist(async () => {
      if (++attempts < 3) throw Object.assign(new Error('lost'), { code: 'ECONNRESET' });
    });
    expect(random).toHaveBeenCalledTimes(2);
  });

  it.each([
    [0, 25],
    [0.5, 37.5],
  ])('do not listen again together, with the chance %f after %f ms', async (chance, pause) => {
    const pauses = pausesWith(chance);
    const connection = { connectionString: 'postgres://127.0.0.1:1/none' };
    const signals = new PostgresSignals(
      connection,
      async () => '',
      async () => undefined,
    );
    await signals.listen({ receive: () => undefined, missed: () => undefined });
    await signals.close();
    expect(pauses).toContain(pause);
  });
});
