import { SlowRunStore } from '../../../test/support/slow-run-store.js';
import { admissionOf, codeOf, keptAnswer } from '../../../packages/store-contract/src/opened-store.js';
import { INTERRUPTED } from '../contract/envelopes.js';
import { MemoryRunStore } from '../memory/memory-run-store.js';
import type { StoreAnswered } from '../ports/run-listener.js';
import { RunStore } from '../ports/run-store.js';
import { observeStore } from './observed-store.js';
import { Observers } from './observers.js';

/** The names of what a store has, with what its classes have. */
function membersOf(store: object): string[] {
  const names = new Set<string>();
  for (let each = store; each !== Object.prototype; each = Object.getPrototypeOf(each) as object)
    for (const name of Object.getOwnPropertyNames(each)) names.add(name);
  return [...names].filter((name) => name !== 'constructor').sort();
}

/** The store, and the operations that its listeners were told. */
function observed(store: RunStore): { store: RunStore; told: string[] } {
  const told: string[] = [];
  const storeAnswered = ({ operation, durationMs }: StoreAnswered) =>
    told.push(durationMs >= 0 ? operation : `${operation} took ${durationMs} ms`);
  return { store: observeStore(store, new Observers([{ storeAnswered }])), told };
}

describe('A store that is observed', () => {
  it('passes on what it is asked, and has every other member of the store', async () => {
    const asked: unknown[][] = [];
    const answering =
      (name: string) =>
      (...parameters: unknown[]) =>
        asked.push([name, ...parameters]);
    const inner = new MemoryRunStore();
    const members = membersOf(inner);
    const methods = members.filter((name) => typeof inner[name as never] === 'function');
    for (const name of methods) Object.assign(inner, { [name]: answering(name) });
    const { store } = observed(inner);
    for (const [index, name] of methods.entries()) {
      const call = (store as unknown as Record<string, (...parameters: unknown[]) => unknown>)[name]!;
      expect([name, call('one', index)]).toEqual([name, index + 1]);
    }
    expect(asked).toEqual(methods.map((name, index) => [name, 'one', index]));
    for (const name of members.filter((each) => !methods.includes(each)))
      expect([name, store[name as never]]).toEqual([name, inner[name as never]]);
  });

  it('tells what it was asked, also where it refuses, but no append and no read from memory', async () => {
    const { store, told } = observed(new MemoryRunStore());
    const { run } = await store.admit(admissionOf());
    await store.append(run, '{"type":"log"}');
    await store.read(run, 0);
    expect(await codeOf(() => store.read({ id: 'none', owner: 'anonymous' }, 0))).toBe('not_found');
    await store.end(run, INTERRUPTED, keptAnswer());
    await store.find(run.owner, run.id);
    const refused = admissionOf({ mayStart: false, maxWaiting: 0 });
    expect(await codeOf(() => store.admit(refused))).toBe('at_capacity');
    expect(told).toEqual(['admit', 'end', 'find', 'admit']);
  });

  it('tells when the answer has come, and a commit of several envelopes once', async () => {
    const { store, told } = observed(new SlowRunStore(() => 3, true));
    const admitted = store.admit(admissionOf());
    expect(told).toEqual([]);
    const { run } = await admitted;
    expect(told).toEqual(['admit']);
    await store.append(run, '{"type":"log"}');
    await store.read(run, 0);
    expect(told).toEqual(['admit', 'append', 'read']);

    const commit = Promise.resolve();
    const grouped = observed(Object.assign(new MemoryRunStore(), { append: () => commit }));
    await Promise.all([grouped.store.append(run, '1'), grouped.store.append(run, '2')]);
    await grouped.store.append(run, '3');
    expect(grouped.told).toEqual(['append']);
  });
});
