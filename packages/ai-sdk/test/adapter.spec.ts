import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { aiSdkAgentHarness, aiSdkHarness } from './harness.js';

adapterContract(aiSdkHarness);
adapterContract(aiSdkAgentHarness);
