import { MemoryRunStore, type RunStore } from 'nest-agent-query';
import { describeRunStore } from './describe-run-store.js';

/** A store with a fault: these members are replaced. */
type Fault = (store: MemoryRunStore) => Partial<RunStore>;

const FAULTS: Record<string, Fault> = {
  'admits a repeated query again': (store) => ({
    admit: (admission) => store.admit({ ...admission, idempotency: undefined }),
  }),
  'does not limit how many runs wait': (store) => ({
    admit: (admission) => store.admit({ ...admission, maxWaiting: Infinity }),
  }),
  'starts more runs than it is asked for': (store) => ({ take: (count) => store.take(count + 1) }),
  'ends a run of any attempt': (store) => ({
    end: (run, end, answer) => store.end({ ...run, attempt: 1 }, end, answer),
  }),
  'loses an envelope': (store) => ({
    append: (run, envelope) => (envelope.includes('"b"') ? undefined : store.append(run, envelope)),
  }),
  'skips an envelope between two slices': (store) => ({
    read: (run, after) => store.read(run, after > 20 ? after + 1 : after),
  }),
  'finds runs of other owners': (store) => ({ find: (_owner, id) => store.find('ann', id) }),
  'returns a session that was erased': () => ({ erase: () => true }),
  'does not cut long texts': (store) => ({
    turns: (owner, id, page) => store.turns(owner, id, { ...page, cutTexts: false }),
  }),
  'lists runs twice': (store) => ({
    runs: (owner, page) => store.runs(owner, { ...page, after: undefined }),
  }),
};

/** The names of the tests of a store that fail, up to the first. */
async function failureOf(fault: Fault): Promise<string | undefined> {
  const tests: [string, () => unknown][] = [];
  const before: (() => unknown)[] = [];
  const after: (() => unknown)[] = [];
  const it = Object.assign((name: string, test: () => unknown) => void tests.push([name, test]), {
    skip: () => undefined,
  });
  const runner = {
    describe: (_name: string, define: () => void) => define(),
    it,
    beforeEach: (hook: () => unknown) => void before.push(hook),
    afterEach: (hook: () => unknown) => void after.push(hook),
    expect: expect as never,
  };
  describeRunStore(
    'A store with a fault',
    ({ retention, events }) => {
      const store = new MemoryRunStore(retention);
      store.open(events);
      const faults = fault(store);
      const faulty = new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(name in faults ? faults : target, name);
          return typeof value === 'function'
            ? (value.bind(name in faults ? faults : target) as unknown)
            : value;
        },
      });
      return { store: faulty, close: () => store.close() };
    },
    { runner, without: { durable: 'memory', logLength: 'a wait', ownerLimits: 'long', retention: 'long' } },
  );
  for (const [name, test] of tests) {
    for (const hook of before) await hook();
    try {
      await test();
    } catch {
      return name;
    } finally {
      for (const hook of after) await hook();
    }
  }
  return undefined;
}

describe('The tests that describeRunStore defines', () => {
  it('pass for a store without a fault', async () => {
    expect(await failureOf(() => ({}))).toBeUndefined();
  });

  it.each(Object.keys(FAULTS))('fail for a store that %s', async (name) => {
    expect(await failureOf(FAULTS[name]!)).toBeDefined();
  });

  it('need a test runner, and say how to pass one', () => {
    expect(() => describeRunStore('Any', () => undefined as never, { runner: {} })).toThrow(
      'The test runner has no function "describe". Pass your runner: describeRunStore(name, open, { runner }), with ' +
        "import * as runner from 'vitest', or from '@jest/globals'.",
    );
  });
});
