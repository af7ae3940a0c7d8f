import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { askingContract } from '../../../test/contracts/asking.contract.js';
import { openAIAgentsAskingHarness, openAIAgentsHarness } from './harness.js';

adapterContract(openAIAgentsHarness);
askingContract(openAIAgentsAskingHarness);
