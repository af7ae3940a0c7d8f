import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { openAIAgentsHarness } from './harness.js';

adapterContract(openAIAgentsHarness);
