/** `ChatOpenAI` of `@langchain/openai`: `stream` and `invoke`. */
import { ChatOpenAI } from '@langchain/openai';
import { chatContent } from './contents.mjs';

export default function create({ api }) {
  return {
    can: ['stream', 'files', 'whole', 'abort', 'usage'],
    async ask({ url, key, text, files, whole, isSet, signal, onText }) {
      const model = new ChatOpenAI({
        model: 'agent',
        apiKey: key,
        useResponsesApi: api === 'responses',
        configuration: { baseURL: `${url}/v1` },
      });
      const content = chatContent(text, files);
      const headers = isSet ? { 'Idempotency-Key': crypto.randomUUID() } : {};
      const options = { signal, options: { headers } };
      if (whole) return toldBy(await model.invoke([{ role: 'user', content }], options));
      let all;
      for await (const chunk of await model.stream([{ role: 'user', content }], options)) {
        if (chunk.text) onText(chunk.text);
        all = all ? all.concat(chunk) : chunk;
      }
      return all ? toldBy(all) : { text: '' };
    },
  };
}

function toldBy({ text, usage_metadata: usage }) {
  return { text, usage: usage && [usage.input_tokens, usage.output_tokens] };
}
