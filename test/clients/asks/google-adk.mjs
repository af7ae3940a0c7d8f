/** `RemoteA2AAgent` of @google/adk, which speaks A2A 0.3. */
import { InMemoryRunner, RemoteA2AAgent } from '@google/adk';
import { ClientFactory } from 'a2a-js-sdk-0/client';
import { optionsFor } from './a2a-0.mjs';

export default function create() {
  return {
    can: ['stream', 'files', 'turns', 'abort'],
    async ask({ url, key, text, second, files, signal, onText }) {
      const clientFactory = new ClientFactory(optionsFor(key));
      const agent = new RemoteA2AAgent({ name: 'agent', agentCard: url, clientFactory });
      const runner = new InMemoryRunner({ agent, appName: 'app' });
      const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'user' });
      const parts = [{ text }, ...files.map(partOf)];
      const conversation = { userId: 'user', sessionId, abortSignal: signal };
      const answer = await answerTo(runner, { ...conversation, newMessage: { role: 'user', parts } }, onText);
      if (!second) return answer;
      const newMessage = { role: 'user', parts: [{ text: second }] };
      return answerTo(runner, { ...conversation, newMessage }, onText);
    },
  };
}

/** Pieces come as partial events, what is no text of the answer as thoughts. What the session keeps comes as a whole after them. */
async function answerTo(runner, query, onText) {
  let all = '';
  for await (const event of runner.runAsync(query)) {
    if (event.errorMessage) throw new Error(event.errorMessage);
    const said = (event.content?.parts ?? []).filter(({ thought }) => !thought);
    const piece = said.map(({ text = '' }) => text).join('');
    if (event.partial) onText(piece);
    else all += piece;
  }
  return { text: all };
}

const partOf = ({ name, mimeType, base64 }) => ({
  inlineData: { data: base64, mimeType, displayName: name },
});
