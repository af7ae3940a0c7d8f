/** `ChatClient` of @tanstack/ai-client, with `fetchServerSentEvents`. */
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client';

export default function create() {
  return {
    can: ['stream', 'files', 'turns', 'abort', 'questions', 'usage'],
    async ask({ url, key, text, second, files, approve, signal, onText }) {
      const told = { text: '', usage: undefined };
      let failure;
      const headers = { authorization: `Bearer ${key}` };
      const client = new ChatClient({
        threadId: crypto.randomUUID(),
        connection: fetchServerSentEvents(`${url}/ag-ui`, { headers }),
        onError: (error) => (failure = error),
        onChunk({ type, delta, usage }) {
          if (type === 'RUN_FINISHED') told.usage = usage && [usage.promptTokens, usage.completionTokens];
          if (type !== 'TEXT_MESSAGE_CONTENT') return;
          told.text += delta;
          onText(delta);
        },
      });
      signal.addEventListener('abort', () => client.stop());
      const content = [{ type: 'text', content: text }, ...files.map(partOf)];
      await client.sendMessage(files.length > 0 ? { content } : text);
      if (second) await client.sendMessage(second);
      if (approve) {
        for (const each of client.getInterrupts()) each.resolveInterrupt({ approved: true });
        while (told.text === '' && !failure && !signal.aborted)
          await new Promise((resolve) => setTimeout(resolve, 20));
      }
      if (failure) throw failure;
      return told;
    },
  };
}

const partOf = ({ name, mimeType, base64 }) => ({
  type: mimeType.startsWith('image/') ? 'image' : 'document',
  source: { type: 'data', value: base64, mimeType },
  metadata: { filename: name },
});
