import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { fromLangGraph } from '../dist/index.js';

/** A model that says so many words as fast as it can. */
class Words extends BaseChatModel {
  constructor(count) {
    super({});
    this.count = count;
  }

  _llmType() {
    return 'words';
  }

  async *_streamResponseChunks(_messages, _options, manager) {
    for (let index = 0; index < this.count; index++) {
      const chunk = new ChatGenerationChunk({
        message: new AIMessageChunk(`word ${index} `),
        text: `word ${index} `,
      });
      yield chunk;
      await manager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

/** @returns how the framework is read directly, and the handler of the adapter */
export function create(deltas) {
  const model = new Words(deltas);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addEdge('__start__', 'agent')
    .compile();
  const direct = async (text) => {
    let count = 0;
    const input = { messages: [{ role: 'user', content: text }] };
    for await (const [message] of await graph.stream(input, { streamMode: 'messages' }))
      if (message.text !== '') count += 1;
    return count;
  };
  return { direct, handler: fromLangGraph(graph) };
}
