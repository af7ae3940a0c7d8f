import { promise } from '../../../../test/promises.js';
import { killedWhileAsking } from '../../../../test/contracts/killed-while-asking.js';

const AGENT = `
import { appendFileSync } from 'node:fs';
import { Agent, Runner, tool } from '@openai/agents';
import { fromOpenAIAgents } from ADAPTER;

const note = (line) => appendFileSync('done', line + '\\n');

const model = {
  async *getStreamedResponse({ input }) {
    note('model');
    const hasPaid = input.some(({ type }) => type === 'function_call_result');
    const content = [{ type: 'output_text', text: 'Paid.' }];
    const output = hasPaid
      ? [{ type: 'message', role: 'assistant', status: 'completed', content }]
      : [{ type: 'function_call', callId: 'call-1', name: 'pay', arguments: '{"sum":1}', status: 'completed' }];
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    yield { type: 'response_done', response: { id: 'r', usage, output } };
  },
};

const pay = tool({
  name: 'pay',
  description: 'pays',
  strict: false,
  parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
  needsApproval: true,
  execute: ({ sum }) => {
    note('pay ' + sum);
    return 'done';
  },
});

export default fromOpenAIAgents(new Agent({ name: 'Main', model, tools: [pay] }), {
  runner: new Runner({ tracingDisabled: true }),
});
`;

describe('An agent of OpenAI Agents in a service', () => {
  it(promise('adapters.asking', 'OpenAI Agents'), async () => {
    const { before, done, envelopes } = await killedWhileAsking('openai-agents', AGENT);
    expect(before).toEqual(['model']);
    expect(done).toEqual(['model', 'pay 1', 'model']);
    expect(envelopes.map(({ type }) => type).filter((type) => type !== 'usage')).toEqual([
      'tool_call',
      'input_required',
      'input_resolved',
      'tool_result',
      'message',
      'done',
    ]);
  });
});
