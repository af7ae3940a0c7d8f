/** @langchain/mcp-adapters: the tools of a server. */
import { MultiServerMCPClient } from '@langchain/mcp-adapters';

export default function create() {
  return {
    can: ['files', 'abort'],
    async ask({ url, key, text, files, signal }) {
      const headers = { authorization: `Bearer ${key}` };
      const client = new MultiServerMCPClient({ service: { transport: 'http', url: `${url}/mcp`, headers } });
      try {
        const [tool] = await client.getTools();
        const content = await tool.invoke({ text, files }, { signal });
        // One part comes without an array.
        return {
          text: [content]
            .flat()
            .map((part) => part.text ?? part)
            .join(''),
        };
      } finally {
        await client.close();
      }
    },
  };
}
