import { join } from 'node:path';

/** The text of an agent of LangChain with the middleware that asks, and a checkpointer on disk. */
export const ASKING_AGENT = `
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { createAgent, humanInTheLoopMiddleware } from 'langchain';
import { fromLangGraph } from ${JSON.stringify(join(import.meta.dirname, '../dist/index.js'))};

const note = (line) => appendFileSync('langgraph-done', line + '\\n');

class DiskSaver extends MemorySaver {
  constructor() {
    super();
    if (!existsSync('threads')) return;
    const revive = (_, value) => (value?.base64 === undefined ? value : new Uint8Array(Buffer.from(value.base64, 'base64')));
    Object.assign(this, JSON.parse(readFileSync('threads', 'utf8'), revive));
  }
  #save() {
    const replace = (_, value) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value);
    writeFileSync('threads', JSON.stringify({ storage: this.storage, writes: this.writes }, replace));
  }
  async put(...args) {
    const result = await super.put(...args);
    this.#save();
    return result;
  }
  async putWrites(...args) {
    await super.putWrites(...args);
    this.#save();
  }
}

class Model extends BaseChatModel {
  _llmType() {
    return 'fake';
  }
  bindTools() {
    return this;
  }
  async *_streamResponseChunks(messages) {
    note('model');
    const hasPaid = messages.some((message) => message.getType() === 'tool');
    const call = { type: 'tool_call_chunk', index: 0, id: 'call-1', name: 'pay', args: '{"sum":1}' };
    const fields = hasPaid ? { content: 'Paid.' } : { content: '', tool_call_chunks: [call] };
    yield new ChatGenerationChunk({ message: new AIMessageChunk(fields), text: fields.content });
  }
}

const pay = tool(
  async ({ sum }) => {
    note('pay ' + sum);
    return 'done';
  },
  { name: 'pay', description: 'pays', schema: { type: 'object', properties: { sum: { type: 'number' } } } },
);

const agent = createAgent({
  model: new Model({}),
  tools: [pay],
  middleware: [humanInTheLoopMiddleware({ interruptOn: { pay: true } })],
  checkpointer: new DiskSaver(),
});

export default fromLangGraph(agent.graph);
`;
