import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { aiSdkAgentHarness, aiSdkHarness } from '../../../test/contracts/adapters/ai-sdk.js';

adapterContract(aiSdkHarness);
adapterContract(aiSdkAgentHarness);
