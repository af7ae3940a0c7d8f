import { describeInLongForm, SHARE_OF_CASES } from '../../../test/support/long-form.js';
import { SlowRunStore } from '../../../test/support/slow-run-store.js';
import { describeRunStore } from 'nest-agent-query-store-contract';
import { MemoryRunStore } from './memory-run-store.js';

const options = { without: { durable: 'what lies in the memory of a process ends with it' } };

describeRunStore(
  'MemoryRunStore',
  ({ retention, events }) => {
    const store = new MemoryRunStore(retention);
    store.open(events);
    return { store, close: () => store.close() };
  },
  { ...options, cases: SHARE_OF_CASES },
);

// The suite itself must not take for granted that a store answers at once. In the short form, `SqlRunStore` shows that.
describeInLongForm('Behind a store that takes its time,', () =>
  describeRunStore(
    'MemoryRunStore',
    ({ retention, events }) => {
      let calls = 0;
      const inner = new MemoryRunStore(retention);
      const store = new SlowRunStore(() => calls++ % 3, false, inner);
      void store.open(events);
      return { store, close: () => inner.close() };
    },
    { ...options, cases: 0.2 },
  ),
);
