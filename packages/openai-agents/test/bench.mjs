import { Agent, Runner } from '@openai/agents';
import { fromOpenAIAgents } from '../dist/index.js';

/** A model that says so many words as fast as it can, in the events of OpenAI Responses. */
class Words {
  constructor(count) {
    this.count = count;
  }

  getResponse() {
    throw new Error('This model streams.');
  }

  async *getStreamedResponse() {
    yield { type: 'response_started' };
    let text = '';
    for (let index = 0; index < this.count; index++) {
      const delta = `word ${index} `;
      text += delta;
      yield { type: 'output_text_delta', delta, itemId: 'message' };
      const event = { type: 'response.output_text.delta', item_id: 'message', delta };
      yield { type: 'model', event, providerData: { rawModelEventSource: 'openai-responses' } };
    }
    const content = [{ type: 'output_text', text }];
    const output = [{ type: 'message', role: 'assistant', status: 'completed', content }];
    const usage = { inputTokens: 1, outputTokens: this.count, totalTokens: this.count + 1 };
    yield { type: 'response_done', response: { id: 'response', usage, output } };
  }
}

/** @returns how the framework is read directly, and the handler of the adapter */
export function create(deltas) {
  const agent = new Agent({ name: 'Words', model: new Words(deltas) });
  const runner = new Runner({ tracingDisabled: true });
  const direct = async (text) => {
    let count = 0;
    const result = await runner.run(agent, text, { stream: true });
    for await (const event of result)
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') count += 1;
    await result.completed;
    return count;
  };
  return { direct, handler: fromOpenAIAgents(agent, { runner }) };
}
