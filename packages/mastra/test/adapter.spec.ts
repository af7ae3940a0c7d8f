import { jest } from '@jest/globals';
import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { askingContract } from '../../../test/contracts/asking.contract.js';
import { mastraAskingHarness, mastraHarness, mastraMemoryHarness } from './harness.js';
import { TestMemory } from './memory.js';

let memory: TestMemory;
beforeEach(() => {
  memory = new TestMemory();
  // The framework writes errors of models to the console.
  jest.spyOn(console, 'error').mockImplementation(() => undefined);
});
afterEach(() => jest.restoreAllMocks());

adapterContract(mastraHarness);
adapterContract(mastraMemoryHarness(() => memory));
askingContract(mastraAskingHarness);
