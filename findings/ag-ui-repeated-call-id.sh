#!/usr/bin/env bash
# The AG-UI client joins two tool calls of two runs if they have the same id.
#
# One would guess: each run has its own tool calls, because each run has its own id and each call names
# its own parent message. A repeated id is a new call, or it is an error.
# What happens: the second call gets no message. Its arguments are appended to those of the first call,
# and the text is no JSON any more. Its result is placed before the answer of the first run.
# Versions: @ag-ui/client 1.0.0, Node 20.
# Why it matters: some model servers count the calls of each response from call_0 again. A service that
# passes their ids on shows a broken history from the second turn on, and the next request sends it back.
#
# The output that was seen:
#   user: first
#   assistant calls call_0 with {"city":"Rome"}{"city":"Oslo"}
#   tool call_0: warm
#   tool call_0: cold
#   assistant: It is warm.
#   user: second
#   assistant: It is cold.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @ag-ui/client@1.0.0

cat > "$dir/probe.mjs" <<'EOF'
import { createServer } from 'node:http';
import { HttpAgent } from '@ag-ui/client';

const turns = [{ city: 'Rome', weather: 'warm' }, { city: 'Oslo', weather: 'cold' }];
let turn = 0;
const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  const { threadId, runId } = JSON.parse(body);
  const { city, weather } = turns[turn++];
  const call = { toolCallId: 'call_0' };
  const text = { messageId: `text-${turn}` };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of [
    { type: 'RUN_STARTED', threadId, runId },
    { type: 'TOOL_CALL_START', ...call, toolCallName: 'weather', parentMessageId: `call-${turn}` },
    { type: 'TOOL_CALL_ARGS', ...call, delta: JSON.stringify({ city }) },
    { type: 'TOOL_CALL_END', ...call },
    { type: 'TOOL_CALL_RESULT', ...call, messageId: `result-${turn}`, content: weather, role: 'tool' },
    { type: 'TEXT_MESSAGE_START', ...text, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', ...text, delta: `It is ${weather}.` },
    { type: 'TEXT_MESSAGE_END', ...text },
    { type: 'RUN_FINISHED', threadId, runId },
  ]) {
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/`, threadId: 'thread' });
for (const content of ['first', 'second']) {
  agent.addMessage({ id: content, role: 'user', content });
  await agent.runAgent({ runId: `run-${content}` });
}
for (const { role, content, toolCalls, toolCallId } of agent.messages) {
  for (const call of toolCalls ?? []) console.log(`${role} calls ${call.id} with ${call.function.arguments}`);
  if (content) console.log(`${role}${toolCallId ? ` ${toolCallId}` : ''}: ${content}`);
}
server.close();
EOF

expected='user: first
assistant calls call_0 with {"city":"Rome"}{"city":"Oslo"}
tool call_0: warm
tool call_0: cold
assistant: It is warm.
user: second
assistant: It is cold.'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: the client no longer joins the two calls in this way." >&2
  exit 1
fi
