/** `ChatOpenAI` of `@langchain/openai`: `stream` and `invoke`. */
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';

export default function create({ api }) {
  return {
    can: ['stream', 'files', 'whole', 'abort', 'usage'],
    async ask({ url, key, text, files, whole, isSet, signal, onText }) {
      const model = new ChatOpenAI({
        model: 'agent',
        apiKey: key,
        useResponsesApi: api === 'responses',
        configuration: { baseURL: `${url}/v1`, ...(isSet && { defaultHeaders: oneRun() }) },
      });
      const contentBlocks = [{ type: 'text', text }, ...files.map(partOf)];
      if (whole) return toldBy(await model.invoke([new HumanMessage({ contentBlocks })], { signal }));
      let all;
      for await (const chunk of await model.stream([new HumanMessage({ contentBlocks })], { signal })) {
        if (chunk.text) onText(chunk.text);
        all = all ? all.concat(chunk) : chunk;
      }
      return all ? toldBy(all) : { text: '' };
    },
  };
}

const oneRun = () => ({ 'Idempotency-Key': crypto.randomUUID() });

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
