import { setImmediate as immediate } from 'node:timers/promises';
import { Agent } from '@mastra/core/agent';
import { fromMastra } from '../dist/index.js';

/** A model that says so many words, each in a turn of the event loop. */
function words(count) {
  async function* parts() {
    yield { type: 'stream-start', warnings: [] };
    yield { type: 'text-start', id: 'text' };
    for (let index = 0; index < count; index++) {
      // The framework loses parts that come within one turn of the event loop.
      await immediate();
      yield { type: 'text-delta', id: 'text', delta: `word ${index} ` };
    }
    yield { type: 'text-end', id: 'text' };
    const usage = { inputTokens: 1, outputTokens: count, totalTokens: count + 1 };
    yield { type: 'finish', finishReason: 'stop', usage };
  }
  return {
    specificationVersion: 'v2',
    provider: 'words',
    modelId: 'words',
    supportedUrls: {},
    doStream: async () => ({ stream: ReadableStream.from(parts()) }),
  };
}

/** @returns how the framework is read directly, and the handler of the adapter */
export function create(deltas) {
  const agent = new Agent({ name: 'Words', instructions: 'Talk.', model: words(deltas) });
  const direct = async (text) => {
    let count = 0;
    const { fullStream } = await agent.stream(text);
    for await (const { type } of fullStream) if (type === 'text-delta') count += 1;
    return count;
  };
  return { direct, handler: fromMastra(agent) };
}
