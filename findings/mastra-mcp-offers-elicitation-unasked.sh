#!/usr/bin/env bash
# @mastra/mcp: the client offers elicitation to every server, and answers the question with "Method not found".
#
# One would guess: an MCP client names `elicitation` among its capabilities when somebody has set a
# handler for questions, as MCP asks of a client. A server that sees it can ask.
# What happens: MCPClient always names it. Without elicitation.onRequest() the question of the server is
# answered with the error -32601, which the protocol has for a method that is not known. The person is
# not asked, the application hears nothing, and the server cannot see it before it asks.
# Versions: @mastra/mcp 0.14.5, @mastra/core 0.24.9, @modelcontextprotocol/sdk 1.32.2 (the server), Node 20.
# Why it matters: a tool that asks the user where it can, and has another way where it cannot, never takes
# the other way with this client. An error of elicitation must be treated as "cannot ask", beside the
# three answers accept, decline and cancel.
#
# Output that was seen:
#   no handler: offered {"form":{}}, question: error -32601
#   with onRequest: offered {"form":{}}, question: accept {"name":"blue"}
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" \
	@mastra/mcp@0.14.5 @mastra/core@0.24.9 @modelcontextprotocol/sdk@1.32.2 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { MCPClient } from '@mastra/mcp';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

async function run(title, handler) {
  const mcp = new Server({ name: 'shop', version: '1.0.0' }, { capabilities: { tools: {} } });
  const tool = { name: 'paint', inputSchema: { type: 'object', properties: {} } };
  mcp.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [tool] }));
  let seen;
  mcp.setRequestHandler(CallToolRequestSchema, async () => {
    const offered = JSON.stringify(mcp.getClientCapabilities().elicitation);
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const question = await mcp.elicitInput({ message: 'Which colour?', requestedSchema }).then(
      ({ action, content }) => `${action} ${JSON.stringify(content)}`,
      (error) => `error ${error.code}`,
    );
    seen = `offered ${offered}, question: ${question}`;
    return { content: [{ type: 'text', text: 'painted' }] };
  });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'session-1' });
  await mcp.connect(transport);
  const server = createServer((request, response) => transport.handleRequest(request, response));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
  const client = new MCPClient({ id: title, servers: { shop: { url } } });
  if (handler) await client.elicitation.onRequest('shop', handler);
  const tools = await client.getTools();
  await tools.shop_paint.execute({ context: {} });
  await client.disconnect();
  server.closeAllConnections();
  server.close();
  console.log(`${title}: ${seen}`);
}
await run('no handler');
await run('with onRequest', async () => ({ action: 'accept', content: { name: 'blue' } }));
EOF

seen=$(node "$dir/check.mjs")
expected='no handler: offered {"form":{}}, question: error -32601
with onRequest: offered {"form":{}}, question: accept {"name":"blue"}'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: elicitation is offered, or a question without a handler answered, otherwise.'
	exit 1
fi
