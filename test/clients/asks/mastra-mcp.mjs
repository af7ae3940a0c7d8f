/** @mastra/mcp: the tools of a server. */
import { MCPClient } from '@mastra/mcp';
import { argumentsOf } from './tool-arguments.mjs';

export default function create() {
  return {
    can: ['files', 'sessions', 'questions'],
    async ask({ url, key, id, text, session, files, isSet }) {
      const headers = {
        authorization: `Bearer ${key}`,
        ...(isSet && { 'Idempotency-Key': crypto.randomUUID() }),
      };
      const service = { url: new URL('/mcp', url), requestInit: { headers } };
      const client = new MCPClient({ id: `${id}-${String(isSet)}-${files.length}`, servers: { service } });
      try {
        await client.elicitation.onRequest('service', () => ({
          action: 'accept',
          content: { approved: true },
        }));
        const { service_query: tool } = await client.getTools();
        const result = await tool.execute({ context: argumentsOf({ text, session, files }) });
        if (result.isError) throw new Error(result.content[0].text);
        return { text: result.content.map((content) => content.text ?? '').join('') };
      } finally {
        await client.disconnect();
      }
    },
  };
}
