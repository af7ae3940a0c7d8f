import { SlowRunStore } from '../../../test/support/slow-run-store.js';
import { describeRunStore } from '../../testing/index.js';
import { admissionOf, codeOf, keptAnswer } from '../../testing/store-contract/opened-store.js';
import { INTERRUPTED } from '../contract/envelopes.js';
import { MemoryRunStore } from '../memory/memory-run-store.js';
import type { StoreAnswered } from '../ports/run-listener.js';
import { RunStore } from '../ports/run-store.js';
import { observeStore } from './observed-store.js';
import { Observers } from './observers.js';

describeRunStore(
  'A store in memory that is observed',
  ({ retention, events }) => {
    const inner = new MemoryRunStore(retention);
    const store = observeStore(inner, new Observers([{ storeAnswered: () => undefined }]));
    void store.open(events);
    return { store, close: () => inner.close() };
  },
  { without: { durable: 'what lies in the memory of a process ends with it' } },
);

/** The store, and the operations that its listeners were told. */
function observed(store: RunStore): { store: RunStore; told: string[] } {
  const told: string[] = [];
  const storeAnswered = ({ operation, durationMs }: StoreAnswered) =>
    told.push(durationMs >= 0 ? operation : `${operation} took ${durationMs} ms`);
  return { store: observeStore(store, new Observers([{ storeAnswered }])), told };
}

describe('A store that is observed', () => {
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
