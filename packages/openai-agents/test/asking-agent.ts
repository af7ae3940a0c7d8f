import { join } from 'node:path';

/** The text of an agent of OpenAI Agents that asks. */
export const ASKING_AGENT = `
import { appendFileSync } from 'node:fs';
import { Agent, Runner, tool } from '@openai/agents';
import { fromOpenAIAgents } from ${JSON.stringify(join(import.meta.dirname, '../dist/index.js'))};

const note = (line) => appendFileSync('openai-agents-done', line + '\\n');

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
