#!/usr/bin/env bash
# ai: the approval of a tool that the provider runs is not sent without `providerExecuted: true`, and nothing says so.
#
# One would guess: an approval is answered with `{ type: 'tool-approval-response', approvalId, approved }`,
# whoever runs the tool. The call in the messages before it has `providerExecuted: true` already.
# What happens: for a tool of the provider (an MCP server that the service calls) the part is dropped,
# unless it has `providerExecuted: true` itself. The second request is then the question alone: neither
# the approval nor the request for it is in it. A refusal is lost in the same way. There is no error and
# no warning.
# Versions: ai 6.0.326, @ai-sdk/openai 3.0.141, Node 20.
# Why it matters: a person approves or refuses, and the agent begins anew and asks again, in a circle; each
# time a run is paid for. The flag is an optional member of the type, so a compiler does not find it
# missing. Who builds the messages by hand has to copy it from the call.
#
# Output that was seen (the items of the second request):
#   approved: user; warnings: 0
#   approved, providerExecuted: user, item_reference, mcp_approval_response(true); warnings: 0
#   refused: user; warnings: 0
#   refused, providerExecuted: user, item_reference, mcp_approval_response(false); warnings: 0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" ai@6.0.326 @ai-sdk/openai@3.0.141 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { generateText } from 'ai';
import { createOpenAI } from '@ai-sdk/openai';

const bodies = [];
const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
const base = { object: 'response', created_at: 1, model: 'agent', status: 'completed', error: null, usage };
const approval = { type: 'mcp_approval_request', id: 'mcpr_1', name: 'delete', server_label: 'files', arguments: '{"path":"/a"}' };
const part = { type: 'output_text', text: 'done', annotations: [] };
const answer = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] };
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  bodies.push(JSON.parse(body));
  const output = bodies.length === 1 ? [approval] : [answer];
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ ...base, id: `resp_${bodies.length}`, output }));
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const openai = createOpenAI({ apiKey: 'none', baseURL: `http://127.0.0.1:${server.address().port}/v1` });
const files = openai.tools.mcp({ serverLabel: 'files', serverUrl: 'http://127.0.0.1:1/mcp', requireApproval: 'always' });

async function run(title, members) {
  bodies.length = 0;
  const messages = [{ role: 'user', content: 'Delete /a' }];
  const options = { model: openai('agent'), tools: { files }, maxRetries: 0 };
  const first = await generateText({ ...options, messages });
  const asked = first.content.find((item) => item.type === 'tool-approval-request');
  const response = { type: 'tool-approval-response', approvalId: asked.approvalId, ...members };
  const history = [...messages, ...first.response.messages, { role: 'tool', content: [response] }];
  const second = await generateText({ ...options, messages: history });
  const items = bodies[1].input.map((item) => item.type === 'mcp_approval_response'
    ? `${item.type}(${item.approve})` : item.type ?? item.role);
  console.log(`${title}: ${items.join(', ')}; warnings: ${second.warnings?.length ?? 0}`);
}
await run('approved', { approved: true });
await run('approved, providerExecuted', { approved: true, providerExecuted: true });
await run('refused', { approved: false });
await run('refused, providerExecuted', { approved: false, providerExecuted: true });
process.exit(0);
EOF

seen=$(node "$dir/check.mjs")
expected='approved: user; warnings: 0
approved, providerExecuted: user, item_reference, mcp_approval_response(true); warnings: 0
refused: user; warnings: 0
refused, providerExecuted: user, item_reference, mcp_approval_response(false); warnings: 0'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: an answer to a request for approval is sent, or dropped, otherwise.'
	exit 1
fi
