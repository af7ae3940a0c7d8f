import { jest } from '@jest/globals';
import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { askingContract } from '../../../test/contracts/asking.contract.js';
import { mastraAskingHarness, mastraHarness } from './harness.js';

// The framework writes errors of models to the console.
beforeEach(() => void jest.spyOn(console, 'error').mockImplementation(() => undefined));
afterEach(() => jest.restoreAllMocks());

adapterContract(mastraHarness);
askingContract(mastraAskingHarness);
