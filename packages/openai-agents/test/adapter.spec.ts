import { MemorySession } from '@openai/agents';
import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { askingContract } from '../../../test/contracts/asking.contract.js';
import { openAIAgentsAskingHarness, openAIAgentsHarness, openAIAgentsMemoryHarness } from './harness.js';

let memory: MemorySession;
beforeEach(() => (memory = new MemorySession()));

adapterContract(openAIAgentsHarness);
adapterContract(openAIAgentsMemoryHarness(() => memory));
askingContract(openAIAgentsAskingHarness);
