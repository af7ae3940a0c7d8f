import { MemorySaver } from '@langchain/langgraph';
import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { askingContract } from '../../../test/contracts/asking.contract.js';
import { langGraphAskingHarness, langGraphHarness, langGraphWithoutMemoryHarness } from './harness.js';

let saver: MemorySaver;
beforeEach(() => (saver = new MemorySaver()));

adapterContract(langGraphHarness(() => saver));
adapterContract(langGraphWithoutMemoryHarness);
askingContract(langGraphAskingHarness(() => saver));
