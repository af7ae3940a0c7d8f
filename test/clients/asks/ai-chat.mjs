/** `DefaultChatTransport`, which `useChat` of the AI SDK sends and reads messages with. */

/** @param packageName `ai`, or the name under which another version is installed */
export default async function create({ packageName }) {
  const { DefaultChatTransport, readUIMessageStream } = await import(packageName);
  return {
    can: ['stream', 'files', 'turns', 'abort', 'questions', 'usage'],
    async ask({ url, key, text, second, files, approve, signal, onText }) {
      const headers = { authorization: `Bearer ${key}` };
      const transport = new DefaultChatTransport({ api: `${url}/ai/chat`, headers });
      const chatId = crypto.randomUUID();
      const parts = [{ type: 'text', text }, ...files.map(partOf)];
      const messages = [userMessage(parts)];
      const send = () =>
        transport.sendMessages({ chatId, messages, trigger: 'submit-message', abortSignal: signal });
      if (!approve && !second) return toldBy(await send(), onText);
      for await (const each of readUIMessageStream({ stream: await send() })) messages[1] = each;
      if (second) messages.push(userMessage([{ type: 'text', text: second }]));
      else messages[1].parts = messages[1].parts.map(approved);
      return toldBy(await send(), onText);
    },
  };
}

const userMessage = (parts) => ({ id: crypto.randomUUID(), role: 'user', parts });

const partOf = ({ name, mimeType, base64 }) => ({
  type: 'file',
  filename: name,
  mediaType: mimeType,
  url: `data:${mimeType};base64,${base64}`,
});

/** The part as `addToolApprovalResponse` leaves it. */
function approved(part) {
  if (part.state !== 'approval-requested') return part;
  return { ...part, state: 'approval-responded', approval: { id: part.approval.id, approved: true } };
}

async function toldBy(stream, onText) {
  const told = { text: '', usage: undefined };
  for await (const chunk of stream) {
    if (chunk.type === 'error') throw new Error(chunk.errorText);
    if (chunk.type === 'data-usage') told.usage = [chunk.data.inputTokens, chunk.data.outputTokens];
    if (chunk.type !== 'text-delta') continue;
    told.text += chunk.delta;
    onText(chunk.delta);
  }
  return told;
}
