#!/usr/bin/env bash
# @mastra/mcp: a failed call that has structured content is returned as if it had succeeded.
#
# One would guess: a tool result with isError is an error for the caller, or at least the caller sees
# isError and the texts, as it does where the result has no structured content.
# What happens: MCPClient returns structuredContent alone, whatever isError says. The reason is lost.
# Versions: @mastra/mcp 0.14.5, @mastra/core 0.24.9, @modelcontextprotocol/sdk 1.32.2 (the server), Node 20.
# Why it matters: a tool that fails half-way, and sends what it has found with the reason, looks finished.
# A server should send no structured content with an error.
#
# Output that was seen:
#   texts only: {"content":[{"type":"text","text":"No quota."}],"isError":true}
#   structured content too: {"sum":3}
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" \
	@mastra/mcp@0.14.5 @mastra/core@0.24.9 @modelcontextprotocol/sdk@1.32.2 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'END'
import { createServer } from 'node:http';
import { MCPClient } from '@mastra/mcp';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

async function run(title, more) {
  const mcp = new Server({ name: 'shop', version: '1.0.0' }, { capabilities: { tools: {} } });
  const tool = { name: 'add', inputSchema: { type: 'object', properties: {} } };
  mcp.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [tool] }));
  const content = [{ type: 'text', text: 'No quota.' }];
  mcp.setRequestHandler(CallToolRequestSchema, () => ({ content, isError: true, ...more }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'session-1' });
  await mcp.connect(transport);
  const server = createServer((request, response) => transport.handleRequest(request, response));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
  const client = new MCPClient({ id: title, servers: { shop: { url } } });
  const tools = await client.getTools();
  const result = await tools.shop_add.execute({ context: {} });
  await client.disconnect();
  server.closeAllConnections();
  server.close();
  console.log(`${title}: ${JSON.stringify(result)}`);
}
await run('texts only', {});
await run('structured content too', { structuredContent: { sum: 3 } });
END

seen=$(node "$dir/check.mjs")
expected='texts only: {"content":[{"type":"text","text":"No quota."}],"isError":true}
structured content too: {"sum":3}'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: a failed call with structured content is returned otherwise.'
	exit 1
fi
