/** The AI SDK with a provider that has an address: `streamText` and `generateText`. */

/**
 * @param ai the name of the package with `streamText`
 * @param provider that of the provider, and `api` what it is called for: `responses`, `chat` or `compatible`
 */
export default async function create({ ai, provider, api }) {
  const sdk = await import(ai);
  const makers = await import(provider);
  return {
    can: [
      'stream',
      'files',
      'turns',
      'whole',
      'abort',
      'usage',
      ...(api === 'responses' ? ['questions'] : []),
    ],
    async ask({ url, key, text, second, files, whole, isSet, approve, signal, onText }) {
      const baseURL = `${url}/v1`;
      const model = modelOf(makers, api, { name: 'agent', apiKey: key, baseURL, includeUsage: true });
      const content = [{ type: 'text', text }, ...files.map(partOf)];
      const messages = [{ role: 'user', content }];
      const headers = isSet ? { 'Idempotency-Key': crypto.randomUUID() } : {};
      const options = { model, messages, headers, abortSignal: signal };
      if (whole) return wholeOf(await sdk.generateText(options));
      const told = await streamed(sdk, options, onText);
      if (!approve && !second) return told;
      messages.push(...told.messages, second ? { role: 'user', content: second } : approvalOf(told.asked));
      return streamed(sdk, { ...options, headers: {} }, onText);
    },
  };
}

function modelOf(makers, api, settings) {
  if (api === 'compatible') return makers.createOpenAICompatible(settings)('agent');
  const provider = makers.createOpenAI(settings);
  return api === 'chat' ? provider.chat('agent') : provider.responses('agent');
}

const partOf = ({ name, mimeType, base64 }) =>
  mimeType.startsWith('image/')
    ? { type: 'image', image: base64, mediaType: mimeType }
    : { type: 'file', filename: name, data: base64, mediaType: mimeType };

async function streamed(sdk, options, onText) {
  const told = { text: '', usage: undefined, asked: [], messages: [] };
  const result = sdk.streamText({ ...options, onError: () => undefined });
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'tool-approval-request') told.asked.push(part.approvalId);
    if (part.type === 'finish') told.usage = usageOf(part.totalUsage);
    if (part.type !== 'text-delta') continue;
    told.text += part.text;
    onText(part.text);
  }
  told.messages = (await result.response).messages;
  return told;
}

const approvalOf = (ids) => ({
  role: 'tool',
  content: ids.map((approvalId) => ({
    type: 'tool-approval-response',
    approvalId,
    approved: true,
    providerExecuted: true,
  })),
});

const wholeOf = ({ text, totalUsage }) => ({ text, usage: usageOf(totalUsage) });

const usageOf = (usage) => usage && [usage.inputTokens, usage.outputTokens];
