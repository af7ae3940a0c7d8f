import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { askingContract } from '../../../test/contracts/asking.contract.js';
import { aiSdkAgentAskingHarness, aiSdkAgentHarness, aiSdkAskingHarness, aiSdkHarness } from './harness.js';

adapterContract(aiSdkHarness);
adapterContract(aiSdkAgentHarness);
askingContract(aiSdkAskingHarness);
askingContract(aiSdkAgentAskingHarness);
