/** `@openai/agents`: `run` with a stream, and without one. */
import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
} from '@openai/agents';
import OpenAI from 'openai';
import { responsesContent } from './contents.mjs';

setTracingDisabled(true);

export default function create({ api }) {
  const Model = api === 'chat' ? OpenAIChatCompletionsModel : OpenAIResponsesModel;
  return {
    can: ['stream', 'files', 'turns', 'whole', 'abort', 'usage'],
    async ask({ url, key, text, second, files, whole, isSet, signal, onText }) {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, ...(isSet && { maxRetries: 0 }) });
      const model = new Model(client, 'agent');
      const input = [{ role: 'user', content: contentOf(text, files) }];
      const agent = new Agent({ name: 'Agent', model });
      if (whole) return toldBy(await run(agent, input, { signal }));
      const result = await run(agent, input, { signal, stream: true });
      for await (const piece of result.toTextStream()) onText(piece);
      await result.completed;
      if (!second) return toldBy(result);
      return toldBy(await run(agent, [...result.history, { role: 'user', content: second }], { signal }));
    },
  };
}

/** As for Responses, but for the members' names. */
function contentOf(text, files) {
  return responsesContent(text, files).map(({ type, text, image_url: image, file_data: file, filename }) => {
    if (image) return { type, image };
    return file ? { type, file, filename } : { type, text };
  });
}

function toldBy(result) {
  const { inputTokens, outputTokens } = result.state.usage ?? result.runContext.usage;
  return { text: result.finalOutput, usage: [inputTokens, outputTokens] };
}
