/** `@llamaindex/openai`: `chat` with a stream, and without one. */
import { openai, openaiResponses } from '@llamaindex/openai';
import { chatContent } from './contents.mjs';

export default function create({ api }) {
  const make = api === 'chat' ? openai : openaiResponses;
  return {
    can: ['stream', 'files', 'turns', 'whole'],
    async ask({ url, key, text, second, files, whole, isSet, onText }) {
      const baseURL = `${url}/v1`;
      const model = make({ model: 'agent', apiKey: key, baseURL, ...(isSet && { maxRetries: 0 }) });
      const messages = [{ role: 'user', content: files.length > 0 ? contentOf(text, files) : text }];
      if (whole) return { text: (await model.chat({ messages })).message.content };
      const answer = await streamed(model, messages, onText);
      if (!second) return { text: answer };
      messages.push({ role: 'assistant', content: answer }, { role: 'user', content: second });
      return { text: await streamed(model, messages, onText) };
    },
  };
}

async function streamed(model, messages, onText) {
  let all = '';
  for await (const { delta } of await model.chat({ messages, stream: true })) {
    if (delta) onText(delta);
    all += delta;
  }
  return all;
}

/** What the package has for files: an image as in a chat, others as `file` with their content. */
function contentOf(text, files) {
  return [
    ...chatContent(text, files).filter(({ type }) => type !== 'file'),
    ...files
      .filter(({ mimeType }) => !mimeType.startsWith('image/'))
      .map(({ mimeType, base64 }) => ({ type: 'file', data: base64, mimeType })),
  ];
}
