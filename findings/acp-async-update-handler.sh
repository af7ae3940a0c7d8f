#!/usr/bin/env bash
# In the ACP SDK a prompt can be answered before the updates that came before the answer are handled.
#
# One would guess: the agent sends three texts and then the result, and they arrive in this order. When
# the promise of session/prompt resolves, the handler of session/update has finished three times.
# What happens: this is so only for a handler that does not await. With an await in the handler the
# promise resolves while no update has been handled; the texts follow later.
# Versions: @agentclientprotocol/sdk 2.4.0, Node 20.
# Why it matters: a client that stores each update in a database and ends the answer with the result ends
# it without its text. A client must queue the updates itself and wait for the queue.
#
# The output that was seen:
#   handler without await: 3 of 3 texts when the prompt ended, 3 of 3 later
#   handler with await: 0 of 3 texts when the prompt ended, 3 of 3 later
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
  for (const text of ['one', 'two', 'three']) {
    const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } };
    say({ method: 'session/update', params: { sessionId: 'session', update } });
  }
  say({ id, result: { stopReason: 'end_turn' } });
});
EOF

cat > "$dir/probe.mjs" <<'EOF'
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';

for (const waits of [false, true]) {
  const agent = spawn(process.execPath, ['agent.mjs'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  const texts = [];
  const keep = ({ params }) => texts.push(params.update.content.text);
  const keepLater = async (event) => {
    await pause(20);
    keep(event);
  };
  const app = client({ name: 'probe' });
  app.onNotification(methods.client.session.update, waits ? keepLater : keep);
  await app.connectWith(stream, async (peer) => {
    await peer.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await peer.request(methods.agent.session.new, { cwd: '/', mcpServers: [] });
    const prompt = [{ type: 'text', text: 'Count.' }];
    await peer.request(methods.agent.session.prompt, { sessionId, prompt });
    const then = texts.length;
    await pause(500);
    const kind = waits ? 'with' : 'without';
    console.log(`handler ${kind} await: ${then} of 3 texts when the prompt ended, ${texts.length} of 3 later`);
  });
  agent.kill();
}
EOF

expected='handler without await: 3 of 3 texts when the prompt ended, 3 of 3 later
handler with await: 0 of 3 texts when the prompt ended, 3 of 3 later'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: the order of updates and result is another one." >&2
  exit 1
fi
