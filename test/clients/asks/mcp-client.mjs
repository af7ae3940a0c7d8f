/** mcp-client: `callTool`. It takes no headers, so the `fetch` of the process adds the key. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { MCPClient } from 'mcp-client';
import { argumentsOf } from './tool-arguments.mjs';

const keys = new AsyncLocalStorage();
const { fetch: send } = globalThis;
globalThis.fetch = (input, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${keys.getStore()}`);
  return send(input, { ...init, headers });
};

export default function create() {
  return {
    can: ['files', 'sessions'],
    ask: (order) => keys.run(order.key, () => call(order)),
  };
}

async function call({ url, text, session, files }) {
  const client = new MCPClient({ name: 'clients', version: '1.0.0' });
  await client.connect({ type: 'httpStream', url: `${url}/mcp` });
  try {
    const result = await client.callTool({ name: 'query', arguments: argumentsOf({ text, session, files }) });
    if (result.isError) throw new Error(result.content[0].text);
    return { text: result.content.map((content) => content.text ?? '').join('') };
  } finally {
    await client.close();
  }
}
