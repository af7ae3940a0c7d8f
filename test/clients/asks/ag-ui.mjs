/** `HttpAgent` of @ag-ui/client, of either version. */

/** @param packageName `@ag-ui/client`, or the name under which another version is installed */
export default async function create({ packageName }) {
  const { HttpAgent } = await import(packageName);
  return {
    can: ['stream', 'files', 'turns', 'abort', 'questions', 'usage'],
    async ask({ url, key, text, second, files, approve, signal, onText }) {
      const agent = new HttpAgent({ url: `${url}/ag-ui`, headers: { authorization: `Bearer ${key}` } });
      signal.addEventListener('abort', () => agent.abortRun());
      const content = files.length > 0 ? [{ type: 'text', text }, ...files.map(partOf)] : text;
      agent.addMessage({ id: crypto.randomUUID(), role: 'user', content });
      const told = await run(agent, {}, onText);
      if (second) {
        agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: second });
        return run(agent, {}, onText);
      }
      if (!approve) return told;
      const resume = told.interrupts.map(({ id }) => ({
        interruptId: id,
        status: 'resolved',
        payload: { approved: true },
      }));
      return run(agent, { resume }, onText);
    },
  };
}

const partOf = ({ name, mimeType, base64 }) => ({
  type: mimeType.startsWith('image/') ? 'image' : 'document',
  source: { type: 'data', value: base64, mimeType },
  metadata: { filename: name },
});

async function run(agent, parameters, onText) {
  const told = { text: '', usage: undefined, interrupts: [] };
  let failure;
  await agent.runAgent(parameters, {
    onEvent({ event }) {
      if (event.type === 'RUN_ERROR') failure = event.message;
      if (event.type === 'TEXT_MESSAGE_CONTENT') {
        told.text += event.delta;
        onText(event.delta);
      }
      if (event.type !== 'RUN_FINISHED') return;
      const [usage] = event.usage ?? [];
      told.usage = usage && [usage.inputTokens, usage.outputTokens];
      told.interrupts = event.outcome?.interrupts ?? [];
    },
  });
  if (failure !== undefined) throw new Error(failure);
  return told;
}
