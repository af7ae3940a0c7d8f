import { eventsOf } from '../../../test/contracts/open-store.js';
import { filesContract } from '../../../test/contracts/files.contract.js';
import { listsContract } from '../../../test/contracts/lists.contract.js';
import { ownersContract } from '../../../test/contracts/owners.contract.js';
import { runStoreContract } from '../../../test/contracts/run-store.contract.js';
import { SlowRunStore } from '../../../test/support/slow-run-store.js';
import { MemoryRunStore } from './memory-run-store.js';

const close = async () => undefined;
// The contract of attempts (`attemptsContract`) is for durable stores: in memory, a run ends with its process.
const skips = { restart: 'what lies in the memory of a process ends with it' };

runStoreContract(
  'MemoryRunStore',
  async (retention) => ({ store: new MemoryRunStore(retention), close }),
  skips,
);

listsContract('MemoryRunStore', async (retention) => ({ store: new MemoryRunStore(retention), close }));

filesContract('MemoryRunStore', async (retention) => {
  const store = new MemoryRunStore(retention);
  return { store, close: () => store.close() };
});

ownersContract('MemoryRunStore', async (events) => {
  const store = new MemoryRunStore();
  store.open(eventsOf(events));
  return { store, close };
});

// The suite itself must not take for granted that a store answers at once.
runStoreContract(
  'MemoryRunStore behind one that takes its time',
  async (retention) => {
    let calls = 0;
    return { store: new SlowRunStore(() => calls++ % 3, false, new MemoryRunStore(retention)), close };
  },
  skips,
);
