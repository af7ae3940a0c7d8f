/** mcp-client: `callTool`. It takes no headers, so the `fetch` of the process has the key. */
import { MCPClient } from 'mcp-client';

export default function create() {
  return {
    can: ['files'],
    async ask({ url, key, text, files }) {
      const client = new MCPClient({ name: 'clients', version: '1.0.0' });
      await client.connect({
        type: 'httpStream',
        url: `${url}/mcp`,
        requestInit: { headers: { authorization: `Bearer ${key}` } },
      });
      try {
        const result = await client.callTool({ name: 'query', arguments: { text, files } });
        const [first] = result.content;
        if (result.isError) throw new Error(first.text);
        return { text: result.content.map((content) => content.text ?? '').join('') };
      } finally {
        await client.close();
      }
    },
  };
}
