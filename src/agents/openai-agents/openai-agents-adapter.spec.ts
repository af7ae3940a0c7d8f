import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { openAIAgentsHarness } from '../../../test/contracts/adapters/openai-agents.js';

adapterContract(openAIAgentsHarness);
