import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { askingContract } from '../../../test/contracts/asking.contract.js';
import { acpAskingHarness, acpHarness, AgentsOfTest } from './harness.js';

let agents: AgentsOfTest;
beforeEach(() => (agents = new AgentsOfTest()));
afterEach(() => agents.end());

adapterContract(acpHarness(() => agents));
askingContract(acpAskingHarness(() => agents));
