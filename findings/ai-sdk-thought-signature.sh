#!/usr/bin/env bash
# The name that a provider of the AI SDK gets decides whether a thought signature is sent back.
#
# One would guess: the name of a provider made with createOpenAICompatible is a label for logs.
# What happens: a signature that came with a tool call is stored below that name, but it is read below
# "google" only. A provider with any other name leaves it out of the next request.
# Versions: ai 6.0.326, @ai-sdk/openai-compatible 2.0.91, Node 20.
# Why it matters: Gemini 3 wants the signature of a tool call back in the next step. The same program,
# endpoint and model work or fail by a word that looks free to choose.
#
# The output that was seen:
#   google sends {"google":{"thought_signature":"SIG"}}
#   gemini sends nothing
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" ai@6.0.326 @ai-sdk/openai-compatible@2.0.91

cat > "$dir/probe.mjs" <<'EOF'
import { createServer } from 'node:http';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { jsonSchema, stepCountIs, streamText, tool } from 'ai';

let requests = [];
const call = {
  index: 0,
  id: 'call_1',
  type: 'function',
  function: { name: 'clock', arguments: '{}' },
  extra_content: { google: { thought_signature: 'SIG' } },
};
const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  requests.push(JSON.parse(body));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const first = requests.length === 1;
  for (const choice of [
    { delta: first ? { tool_calls: [call] } : { content: 'Noon.' }, finish_reason: null },
    { delta: {}, finish_reason: first ? 'tool_calls' : 'stop' },
  ]) {
    const chunk = { id: 'chat', object: 'chat.completion.chunk', created: 1, model: 'some-model' };
    response.write(`data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, ...choice }] })}\n\n`);
  }
  response.end('data: [DONE]\n\n');
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const clock = tool({
  inputSchema: jsonSchema({ type: 'object', properties: {} }),
  execute: async () => '12:00',
});
for (const name of ['google', 'gemini']) {
  requests = [];
  const provider = createOpenAICompatible({ name, baseURL, apiKey: 'none' });
  const result = streamText({
    model: provider('some-model'),
    prompt: 'What time is it?',
    tools: { clock },
    stopWhen: stepCountIs(2),
  });
  await result.consumeStream();
  const sent = requests[1].messages[1].tool_calls[0].extra_content;
  console.log(`${name} sends ${sent ? JSON.stringify(sent) : 'nothing'}`);
}
server.close();
EOF

expected='google sends {"google":{"thought_signature":"SIG"}}
gemini sends nothing'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: the name no longer decides whether the signature is sent back." >&2
  exit 1
fi
