import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adapterContract } from '../../../test/contracts/adapter.contract.js';
import { askingContract } from '../../../test/contracts/asking.contract.js';
import { claudeAskingHarness, claudeHarness } from './harness.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'claude-agent-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

adapterContract(claudeHarness(() => directory));
askingContract(claudeAskingHarness(() => directory));
