import { MemorySaver } from '@langchain/langgraph';
import { ADAPTER_CASES, type AdapterCase } from '../test/contracts/adapters/cases.js';
import { ASKING_CASES, type AskingCase } from '../test/contracts/adapters/asking-cases.js';
import { acpAskingHarness, acpHarness, AgentsOfTest } from './acp/test/harness.js';
import { aiSdkAgentHarness, aiSdkAskingHarness, aiSdkHarness } from './ai-sdk/test/harness.js';
import { claudeAskingHarness, claudeHarness } from './claude-agent/test/harness.js';
import { mastraAskingHarness, mastraHarness } from './mastra/test/harness.js';
import { openAIAgentsAskingHarness, openAIAgentsHarness } from './openai-agents/test/harness.js';
import type { AdapterHarness, AskingHarness } from '../test/contracts/adapters/harness.js';
import {
  langGraphAskingHarness,
  langGraphHarness,
  langGraphWithoutMemoryHarness,
} from './langgraph/test/harness.js';
import { read, tableRows } from '../test/support/documents.js';

/** Those with a column in the table, and those that are described below it. */
const ADAPTERS: AdapterHarness[] = [
  aiSdkHarness,
  langGraphHarness(() => new MemorySaver()),
  openAIAgentsHarness,
  mastraHarness,
  acpHarness(() => new AgentsOfTest()),
  claudeHarness(() => ''),
];
const OTHERS: AdapterHarness[] = [aiSdkAgentHarness, langGraphWithoutMemoryHarness];

/** Those with a column in the table of what adapters ask. */
const ASKING: AskingHarness[] = [
  aiSdkAskingHarness,
  langGraphAskingHarness(() => new MemorySaver()),
  openAIAgentsAskingHarness,
  mastraAskingHarness,
  acpAskingHarness(() => new AgentsOfTest()),
  claudeAskingHarness(() => ''),
];

const DOCUMENT = 'docs/agents.md';

describe('The table of adapters', () => {
  const rows = tableRows(DOCUMENT).filter(({ heading }) => heading[0] === 'Case');

  it('has every case', () => {
    expect(rows.map(({ cells }) => cells[0])).toEqual(Object.values(ADAPTER_CASES));
  });

  it.each(ADAPTERS.map((harness) => [harness.name, harness] as const))(
    'says what %s can do',
    (name, harness) => {
      const column = rows[0]!.heading.indexOf(`\`${name}\``);
      const shown = rows.map(({ cells }) => cells[column]);
      const cases = Object.keys(ADAPTER_CASES) as AdapterCase[];
      expect(shown).toEqual(cases.map((each) => (harness.cannot[each] === undefined ? 'yes' : 'no')));
    },
  );

  it.each([...ADAPTERS, ...OTHERS].flatMap(({ cannot }) => Object.values(cannot)))(
    'gives the reason: %s',
    (reason) => {
      expect(read(DOCUMENT).replace(/\s+/g, ' ')).toContain(reason);
    },
  );
});

describe('The table of what adapters ask', () => {
  const rows = tableRows(DOCUMENT).filter(({ heading }) => heading[0] === 'Question');

  it('has every case', () => {
    expect(rows.map(({ cells }) => cells[0])).toEqual(Object.values(ASKING_CASES));
  });

  it.each(ASKING.map((harness) => [harness.name, harness] as const))(
    'says what %s can do',
    (name, { cannot }) => {
      const column = rows[0]!.heading.indexOf(`\`${name}\``);
      const shown = rows.map(({ cells }) => cells[column]);
      const cases = Object.keys(ASKING_CASES) as AskingCase[];
      expect(shown).toEqual(cases.map((each) => (cannot[each] === undefined ? 'yes' : 'no')));
      for (const reason of Object.values(cannot))
        expect(read(DOCUMENT).replace(/\s+/g, ' ')).toContain(reason);
    },
  );
});
