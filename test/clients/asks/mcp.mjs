/** The official clients of MCP: @modelcontextprotocol/sdk 1 (2025-11-25) and @modelcontextprotocol/client 2 (2026-07-28). */
import { argumentsOf } from './tool-arguments.mjs';

const INFO = { name: 'clients', version: '1.0.0' };
const CAPABILITIES = { capabilities: { elicitation: { form: {} } } };
const approved = () => ({ action: 'accept', content: { approved: true } });

const CONNECT = {
  async '2025-11-25'() {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } =
      await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const { CallToolResultSchema, ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
    return async (url, options) => {
      const client = new Client(INFO, CAPABILITIES);
      client.setRequestHandler(ElicitRequestSchema, approved);
      await client.connect(new StreamableHTTPClientTransport(url, options));
      return { client, call: (tool, more) => client.callTool(tool, CallToolResultSchema, more) };
    };
  },

  async '2026-07-28'() {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    return async (url, options) => {
      const client = new Client(INFO, {
        ...CAPABILITIES,
        versionNegotiation: { mode: { pin: '2026-07-28' } },
      });
      client.setRequestHandler('elicitation/create', approved);
      await client.connect(new StreamableHTTPClientTransport(url, options));
      return { client, call: (tool, more) => client.callTool(tool, more) };
    };
  },
};

export default async function create({ version }) {
  const connect = await CONNECT[version]();
  return {
    can: ['stream', 'files', 'sessions', 'abort', 'questions'],
    async ask({ url, key, text, session, files, signal, onText }) {
      const headers = { authorization: `Bearer ${key}` };
      const { client, call } = await connect(new URL('/mcp', url), { requestInit: { headers } });
      try {
        const onprogress = ({ message }) => onText(message ?? '');
        const result = await call(
          { name: 'query', arguments: argumentsOf({ text, session, files }) },
          { signal, onprogress },
        );
        if (result.isError) throw new Error(result.content[0].text);
        return { text: result.content.map((content) => content.text ?? '').join('') };
      } finally {
        await client.close();
      }
    },
  };
}
