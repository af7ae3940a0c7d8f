#!/usr/bin/env bash
# A rejected command of codex-acp ends the turn as cancelled, and no update ever names the call.
#
# One would guess: the agent announces a tool call, asks for permission, marks the rejected call as
# failed, tells the model, and the model says something about it. The turn ends with end_turn.
# What happens: the request for permission is the only message that has the id of the call. There is no
# tool_call before it and no update after it. The model is not asked again, and the result is cancelled,
# though the client has sent no session/cancel.
# Versions: @zed-industries/codex-acp 0.16.0 (Linux, x64), Node 20.
# Why it matters: a client must take the call from the request itself and close it itself, and it must
# not read the result as a cancellation by the person.
#
# The output that was seen:
#   session/request_permission: pending, touch made.txt
#   updates that name the call: 0
#   requests to the model: 1
#   result: cancelled
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @zed-industries/codex-acp-linux-x64@0.16.0

cat > "$dir/probe.mjs" <<'EOF'
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

let requests = 0;
const command = { name: 'exec_command', arguments: JSON.stringify({ cmd: 'touch made.txt' }) };
const server = createServer((request, response) => {
  requests += 1;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of [
    { type: 'response.created', response: { id: 'r' } },
    { type: 'response.output_item.done', item: { type: 'function_call', id: 'f', call_id: 'call', ...command } },
    { type: 'response.completed', response: { id: 'r' } },
  ]) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  request.resume().on('end', () => response.end());
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const folder = process.cwd();
const provider = `{ name = "fake", base_url = "http://127.0.0.1:${server.address().port}/v1", env_key = "KEY" }`;
mkdirSync('home');
mkdirSync('work');
writeFileSync('home/config.toml', `model = "fake"\nmodel_provider = "fake"\napproval_policy = "untrusted"
check_for_update_on_startup = false\nanalytics.enabled = false\nmodel_providers.fake = ${provider}\n`);
const env = { PATH: process.env.PATH, HOME: `${folder}/home`, CODEX_HOME: `${folder}/home`, KEY: 'none' };
const program = 'node_modules/@zed-industries/codex-acp-linux-x64/bin/codex-acp';
const agent = spawn(program, { env, stdio: ['pipe', 'pipe', 'ignore'] });
const say = (message) => agent.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const waiting = new Map();
const ask = (id, method, params) => {
  say({ id, method, params });
  return new Promise((done) => waiting.set(id, done));
};
let named = 0;
createInterface({ input: agent.stdout }).on('line', (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === 'session/update' && params.update.toolCallId === 'call') named += 1;
  if (!method) waiting.get(id)(result);
  if (method !== 'session/request_permission') return;
  console.log(`${method}: ${params.toolCall.status}, ${params.toolCall.title}`);
  const { optionId } = params.options.find(({ kind }) => kind === 'reject_once');
  say({ id, result: { outcome: { outcome: 'selected', optionId } } });
});
await ask(1, 'initialize', { protocolVersion: 1, clientCapabilities: {} });
const { sessionId } = await ask(2, 'session/new', { cwd: `${folder}/work`, mcpServers: [] });
const prompt = [{ type: 'text', text: 'Make the file.' }];
const { stopReason } = await ask(3, 'session/prompt', { sessionId, prompt });
await pause(1000);
console.log(`updates that name the call: ${named}\nrequests to the model: ${requests}\nresult: ${stopReason}`);
agent.kill();
server.close();
EOF

expected='session/request_permission: pending, touch made.txt
updates that name the call: 0
requests to the model: 1
result: cancelled'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: a rejected command is reported in another way." >&2
  exit 1
fi
