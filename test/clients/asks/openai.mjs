/** `openai`: the loop over a stream that its README shows, and the call without one. */

/** @param packageName `openai`, or the name under which another version is installed */
export default async function create({ packageName, api }) {
  const { default: OpenAI } = await import(packageName);
  const { ask } = await import(`./openai-${api}.mjs`);
  return {
    can: ['stream', 'files', 'turns', 'whole', 'abort', 'questions', 'usage'],
    ask({ url, key, ...order }) {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
      const headers = order.isSet ? { 'Idempotency-Key': crypto.randomUUID() } : {};
      return ask(client, order, { signal: order.signal, headers });
    },
  };
}
