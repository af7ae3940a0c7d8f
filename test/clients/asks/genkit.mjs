/** `genkit` with `@genkit-ai/compat-oai`: `generateStream` and `generate`. */
import { openAICompatible } from '@genkit-ai/compat-oai';
import { compatOaiModelRef } from '@genkit-ai/compat-oai';
import { genkit } from 'genkit';
import { logger } from 'genkit/logging';

logger.setLogLevel('error');

export default function create() {
  return {
    can: ['stream', 'files', 'turns', 'whole', 'usage', 'abort'],
    async ask({ url, key, text, second, files, whole, isSet, signal, onText }) {
      const settings = { name: 'service', apiKey: key, baseURL: `${url}/v1` };
      const ai = genkit({ plugins: [openAICompatible({ ...settings, ...(isSet && { maxRetries: 0 }) })] });
      const prompt = [{ text }, ...files.map(partOf)];
      const request = { model: compatOaiModelRef({ name: 'service/agent' }), prompt, abortSignal: signal };
      if (whole) return toldBy(await ai.generate(request));
      const { stream, response } = ai.generateStream(request);
      response.catch(() => undefined);
      for await (const chunk of stream) if (chunk.text) onText(chunk.text);
      if (!second) return toldBy(await response);
      const { messages } = await response;
      return toldBy(await ai.generate({ ...request, messages, prompt: second }));
    },
  };
}

const partOf = ({ mimeType, base64 }) => ({
  media: { contentType: mimeType, url: `data:${mimeType};base64,${base64}` },
});

const toldBy = ({ text, usage }) => ({ text, usage: usage && [usage.inputTokens, usage.outputTokens] });
