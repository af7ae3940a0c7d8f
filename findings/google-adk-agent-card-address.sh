#!/usr/bin/env bash
# @google/adk: RemoteA2AAgent with the address of the card asks for another path; the address of the agent is meant.
#
# One would guess: `agentCard: 'https://host/.well-known/agent-card.json'` fetches this address. The comment
# of the type says "Loaded AgentCard or URL to AgentCard".
# What happens: the text is a base, and `.well-known/agent-card.json` is resolved against it. So the
# address of the card gives a path with `.well-known` twice, and 404. The base of an agent that is below a
# path needs a slash at its end: without it the last part of the path is replaced.
# Versions: @google/adk 2.0.0 (brings @a2a-js/sdk 0.3.14), Node 20.
# Why it matters: services give out the address of their card, as A2A has it. Who pastes it here reads
# "404" for a card that is there. The base with a slash works, and so does a card that was loaded before.
#
# Output that was seen:
#   /.well-known/agent-card.json: asks GET /.well-known/.well-known/agent-card.json -> fails
#   (base): asks GET /.well-known/agent-card.json -> answers hello
#   /agents/shop: asks GET /agents/.well-known/agent-card.json -> fails
#   /agents/shop/: asks GET /agents/shop/.well-known/agent-card.json -> answers hello
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @google/adk@2.0.0 @a2a-js/sdk@0.3.14 ||
	{ echo 'npm could not install the package'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { InMemoryRunner, RemoteA2AAgent } from '@google/adk';

const cards = ['/.well-known/agent-card.json', '/agents/shop/.well-known/agent-card.json'];
let base;
const asked = [];
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const send = (status, value) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };
  if (request.method === 'POST') {
    const parts = [{ kind: 'text', text: 'hello' }];
    const result = { kind: 'message', messageId: 'm1', role: 'agent', parts, contextId: 'c1' };
    send(200, { jsonrpc: '2.0', id: JSON.parse(body).id, result });
    return;
  }
  asked.push(`${request.method} ${request.url}`);
  if (!cards.includes(request.url)) return send(404, { message: 'not found' });
  send(200, {
    name: 'shop', description: 'Sells', version: '1.0.0', protocolVersion: '0.3.0', url: `${base}/a2a`,
    preferredTransport: 'JSONRPC', capabilities: { streaming: false }, skills: [],
    defaultInputModes: ['text'], defaultOutputModes: ['text'],
  });
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
base = `http://127.0.0.1:${server.address().port}`;

async function run(path) {
  asked.length = 0;
  const agent = new RemoteA2AAgent({ name: 'shop', agentCard: `${base}${path}` });
  const runner = new InMemoryRunner({ agent, appName: 'app' });
  const session = await runner.sessionService.createSession({ appName: 'app', userId: 'user' });
  let outcome = 'nothing';
  try {
    const newMessage = { role: 'user', parts: [{ text: 'hi' }] };
    for await (const event of runner.runAsync({ userId: 'user', sessionId: session.id, newMessage })) {
      const text = event.content?.parts?.map((part) => part.text).join('');
      if (text) outcome = `answers ${text}`;
      if (event.errorMessage) outcome = 'fails';
    }
  } catch {
    outcome = 'fails';
  }
  console.log(`${path || '(base)'}: asks ${asked.join(', ')} -> ${outcome}`);
}
await run('/.well-known/agent-card.json');
await run('');
await run('/agents/shop');
await run('/agents/shop/');
process.exit(0);
EOF

seen=$(node "$dir/check.mjs" 2>/dev/null)
expected='/.well-known/agent-card.json: asks GET /.well-known/.well-known/agent-card.json -> fails
(base): asks GET /.well-known/agent-card.json -> answers hello
/agents/shop: asks GET /agents/.well-known/agent-card.json -> fails
/agents/shop/: asks GET /agents/shop/.well-known/agent-card.json -> answers hello'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: the address of a card is taken otherwise than before.'
	exit 1
fi
