import { listsContract } from '../../../test/contracts/lists.contract.js';
import { admissionOf } from '../../../test/contracts/open-store.js';
import { runStoreContract } from '../../../test/contracts/run-store.contract.js';
import { MemoryRunStore } from '../memory/memory-run-store.js';
import { type OwnerOfModule, ownerOfModule, storedOwner } from './owners.js';
import { SharedStore } from './shared-store.js';

const close = async () => undefined;
const skips = {
  restart: 'what lies in the memory of a process ends with it',
  modules: 'it has the runs of one module',
};

runStoreContract(
  'A store in memory, as one of several modules sees it',
  async (retention) => {
    const shared = SharedStore.of({}, new MemoryRunStore(retention));
    shared.join('', {});
    return { store: shared.join('research', {}), close };
  },
  skips,
);

listsContract('A store in memory, as one of several modules sees it', async (retention) => {
  const shared = SharedStore.of({}, new MemoryRunStore(retention));
  shared.join('', {});
  return { store: shared.join('research', {}), close };
});

it('A module does not list runs and sessions of another one with the same owner', async () => {
  const shared = SharedStore.of({}, new MemoryRunStore());
  const stores = ['', 'research', 'files'].map((name) => ({ name, store: shared.join(name, {}) }));
  const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
  for (const { name, store } of stores) await store.admit(admissionOf({ runId: `of ${name}`, session }));
  const page = { after: undefined, limit: 9 };
  for (const { name, store } of stores) {
    const { runs } = await store.runs('anonymous', page);
    expect(runs).toMatchObject([{ id: `of ${name}`, owner: 'anonymous' }]);
    const { sessions } = await store.sessions('anonymous', page);
    expect(sessions).toMatchObject([{ id: 's', active: `of ${name}` }]);
  }
});

describe('The owner of a module', () => {
  const OWNERS = ['', 'ann', '\0', '\0ann', '\0research', '\0research\0ann', '\0\0ann', 'ann\0research'];
  const ALL = ['', 'research', 'ann'].flatMap((module) => OWNERS.map((owner) => ({ module, owner })));

  const stored = ({ module, owner }: OwnerOfModule) => storedOwner(module, owner);

  it('is different in the store from every owner of another module', () => {
    expect(new Set(ALL.map(stored)).size).toBe(ALL.length);
  });

  it('is read back from the store', () => {
    for (const each of ALL) expect(ownerOfModule(stored(each))).toEqual(each);
  });

  it('is unchanged in the store for the module without a name', () => {
    expect(storedOwner('', 'ann')).toBe('ann');
  });
});
