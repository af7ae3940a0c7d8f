#!/usr/bin/env bash
# The ACP SDK loses a whole tool call for one missing member, and loses an unknown value without a word.
#
# One would guess: a message that is not quite right is passed on as it is, or it ends in an error that
# the client's code can catch.
# What happens: a tool_call without a title is never delivered. Only a line on the console tells it; no
# handler is called and the request of the prompt succeeds. The later updates of that call are delivered
# for a call that the client has never seen. An unknown status is taken out of its update, silently: the
# update arrives without any status. An unknown stop reason is passed on unchanged.
# Versions: @agentclientprotocol/sdk 2.4.0, Node 20.
# Why it matters: agents of newer versions send new words. A client must expect updates of unknown calls,
# updates without content and stop reasons that no type names.
#
# The output that was seen:
#   delivered: {"toolCallId":"titled","title":"Read","sessionUpdate":"tool_call"}
#   delivered: {"toolCallId":"titled","sessionUpdate":"tool_call_update"}
#   delivered: {"toolCallId":"untitled","status":"completed","sessionUpdate":"tool_call_update"}
#   stop reason: paused
#   lines on the console: 1
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @agentclientprotocol/sdk@2.4.0

cat > "$dir/agent.mjs" <<'EOF'
import { createInterface } from 'node:readline';

const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method === 'initialize') say({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
  if (method === 'session/new') say({ id, result: { sessionId: 'session' } });
  if (method !== 'session/prompt') return;
  for (const update of [
    { sessionUpdate: 'tool_call', toolCallId: 'titled', title: 'Read' },
    { sessionUpdate: 'tool_call', toolCallId: 'untitled' },
    { sessionUpdate: 'tool_call_update', toolCallId: 'titled', status: 'paused' },
    { sessionUpdate: 'tool_call_update', toolCallId: 'untitled', status: 'completed' },
  ]) {
    say({ method: 'session/update', params: { sessionId: 'session', update } });
  }
  say({ id, result: { stopReason: 'paused' } });
});
EOF

cat > "$dir/probe.mjs" <<'EOF'
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';

let lines = 0;
console.error = () => (lines += 1);
const agent = spawn(process.execPath, ['agent.mjs'], { stdio: ['pipe', 'pipe', 'inherit'] });
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const app = client({ name: 'probe' });
app.onNotification(methods.client.session.update, ({ params }) => {
  console.log(`delivered: ${JSON.stringify(params.update)}`);
});
await app.connectWith(stream, async (peer) => {
  await peer.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await peer.request(methods.agent.session.new, { cwd: '/', mcpServers: [] });
  const prompt = [{ type: 'text', text: 'Go.' }];
  const { stopReason } = await peer.request(methods.agent.session.prompt, { sessionId, prompt });
  console.log(`stop reason: ${stopReason}`);
});
console.log(`lines on the console: ${lines}`);
agent.kill();
EOF

expected='delivered: {"toolCallId":"titled","title":"Read","sessionUpdate":"tool_call"}
delivered: {"toolCallId":"titled","sessionUpdate":"tool_call_update"}
delivered: {"toolCallId":"untitled","status":"completed","sessionUpdate":"tool_call_update"}
stop reason: paused
lines on the console: 1'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: incomplete or unknown updates are treated in another way." >&2
  exit 1
fi
