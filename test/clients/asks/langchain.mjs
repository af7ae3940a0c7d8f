/** `ChatOpenAI` of `@langchain/openai`: `stream` and `invoke`. */
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';

export default function create({ api }) {
  return {
    can: ['stream', 'files', 'turns', 'whole', 'abort', 'usage'],
    async ask({ url, key, text, second, files, whole, isSet, signal, onText }) {
      const model = new ChatOpenAI({
        model: 'agent',
        apiKey: key,
        useResponsesApi: api === 'responses',
        configuration: { baseURL: `${url}/v1` },
        ...(isSet && { maxRetries: 0 }),
      });
      const contentBlocks = [{ type: 'text', text }, ...files.map(partOf)];
      const messages = [new HumanMessage({ contentBlocks })];
      if (whole) return toldBy(await model.invoke(messages, { signal }));
      const answer = await streamed(model, messages, signal, onText);
      if (!second) return toldBy(answer);
      messages.push(answer, new HumanMessage(second));
      return toldBy(await streamed(model, messages, signal, onText));
    },
  };
}

async function streamed(model, messages, signal, onText) {
  let all;
  for await (const chunk of await model.stream(messages, { signal })) {
    if (chunk.text) onText(chunk.text);
    all = all ? all.concat(chunk) : chunk;
  }
  return all ?? new AIMessage('');
}

/** The standard content of LangChain. */
const partOf = ({ name, mimeType, base64 }) => ({
  type: mimeType.startsWith('image/') ? 'image' : 'file',
  mimeType,
  data: base64,
  metadata: { filename: name },
});

function toldBy({ text, usage_metadata: usage }) {
  return { text, usage: usage && [usage.input_tokens, usage.output_tokens] };
}
