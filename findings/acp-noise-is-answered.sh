#!/usr/bin/env bash
# The ACP SDK answers a line on the agent's stdout that is no JSON with an error to the agent.
#
# One would guess: a client skips a line that an agent prints by accident, or it ends the connection.
# What happens: the connection goes on, but for each such line the client writes a JSON-RPC error with
# the id null to the agent's stdin. A JSON line that is no JSON-RPC message gets an error with its own
# content in it.
# Versions: @agentclientprotocol/sdk 2.4.0, Node 20.
# Why it matters: one log line on stdout makes the agent read an error that belongs to none of its
# requests. Its reader must accept the id null, and its logs must go to stderr.
#
# The output that was seen:
#   prompt: end_turn
#   agent read: request initialize
#   agent read: request session/new
#   agent read: request session/prompt
#   agent read: {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}
#   agent read: {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request","data":{"level":"info"}}}
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @agentclientprotocol/sdk@2.4.0

cat > "$dir/agent.mjs" <<'EOF'
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  appendFileSync('read.log', `agent read: ${method ? `request ${method}` : line}\n`);
  if (method === 'initialize') say({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
  if (method === 'session/new') say({ id, result: { sessionId: 'session' } });
  if (method !== 'session/prompt') return;
  console.log('Loading the tools');
  console.log('{"level":"info"}');
  say({ id, result: { stopReason: 'end_turn' } });
});
EOF

cat > "$dir/probe.mjs" <<'EOF'
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';

const agent = spawn(process.execPath, ['agent.mjs'], { stdio: ['pipe', 'pipe', 'inherit'] });
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await client({ name: 'probe' }).connectWith(stream, async (peer) => {
  await peer.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await peer.request(methods.agent.session.new, { cwd: '/', mcpServers: [] });
  const prompt = [{ type: 'text', text: 'Go.' }];
  const { stopReason } = await peer.request(methods.agent.session.prompt, { sessionId, prompt });
  console.log(`prompt: ${stopReason}`);
  await pause(500);
});
agent.kill();
console.log(readFileSync('read.log', 'utf8').trim());
EOF

expected='prompt: end_turn
agent read: request initialize
agent read: request session/new
agent read: request session/prompt
agent read: {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}
agent read: {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request","data":{"level":"info"}}}'
seen=$(cd "$dir" && timeout 60 node probe.mjs 2> errors.log)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: noise of an agent is treated in another way." >&2
  exit 1
fi
