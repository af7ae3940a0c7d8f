/** @langchain/mcp-adapters: the tools of a server. */
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { argumentsOf } from './tool-arguments.mjs';

export default function create() {
  return {
    can: ['files', 'sessions', 'abort'],
    async ask({ url, key, text, session, files, signal }) {
      const headers = { authorization: `Bearer ${key}` };
      const client = new MultiServerMCPClient({ service: { transport: 'http', url: `${url}/mcp`, headers } });
      try {
        const [tool] = await client.getTools();
        const content = await tool.invoke(argumentsOf({ text, session, files }), { signal });
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
