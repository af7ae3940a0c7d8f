import { runStoreContract } from '../../../test/contracts/run-store.contract.js';
import { MemoryRunStore } from './memory-run-store.js';

runStoreContract(
  'MemoryRunStore',
  async (retention) => ({ store: new MemoryRunStore(retention), close: async () => undefined }),
  { restart: 'what lies in the memory of a process ends with it' },
);
