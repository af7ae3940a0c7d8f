import { MemorySaver } from '@langchain/langgraph';
import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { langGraphHarness, langGraphWithoutMemoryHarness } from './harness.js';

let saver: MemorySaver;
beforeEach(() => (saver = new MemorySaver()));

adapterContract(langGraphHarness(() => saver));
adapterContract(langGraphWithoutMemoryHarness);
