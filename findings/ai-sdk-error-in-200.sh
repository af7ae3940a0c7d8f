#!/usr/bin/env bash
# The AI SDK hides what an endpoint says in a JSON body with the status 200.
#
# One would guess: an endpoint that answers a request for a stream with one JSON object is understood.
# An object with "error" becomes an error with those words; a whole chat completion becomes its text.
# What happens: both give an empty text and the same general error. Neither the error nor its cause has
# a word of the body, and the answer that the model gave is lost.
# Versions: ai 6.0.326, @ai-sdk/openai-compatible 2.0.91, Node 20.
# Why it matters: gateways report an empty account in this way, and simple servers ignore "stream". A
# person who reads the log looks for a broken connection, though the body says what is wrong.
#
# The output that was seen:
#   stream: text "Hello", finish reason stop, no error
#   error: text "", finish reason error, AI_InvalidResponseDataError without a word of the body
#   whole: text "", finish reason error, AI_InvalidResponseDataError without a word of the body
#   message: Response stream ended without a finish reason.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" ai@6.0.326 @ai-sdk/openai-compatible@2.0.91

cat > "$dir/probe.mjs" <<'EOF'
import { createServer } from 'node:http';
import { inspect } from 'node:util';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';

const head = { id: 'chat', created: 1, model: 'some-model' };
const chunk = { ...head, object: 'chat.completion.chunk' };
const message = { role: 'assistant', content: 'Hello' };
const choice = { index: 0, finish_reason: 'stop' };
const bodies = {
  stream: `data: ${JSON.stringify({ ...chunk, choices: [{ ...choice, delta: message }] })}\n\ndata: [DONE]\n\n`,
  error: JSON.stringify({ error: { message: 'The account is empty.', code: 402 } }),
  whole: JSON.stringify({ ...head, object: 'chat.completion', choices: [{ ...choice, message }] }),
};
let kind;
const server = createServer((request, response) => {
  const type = kind === 'stream' ? 'text/event-stream' : 'application/json';
  request.resume().on('end', () => response.writeHead(200, { 'content-type': type }).end(bodies[kind]));
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const provider = createOpenAICompatible({ name: 'probe', baseURL, apiKey: 'none' });
let last;
for (kind of Object.keys(bodies)) {
  let error;
  const onError = (event) => (error = event.error);
  const result = streamText({ model: provider('some-model'), prompt: 'Hi', maxRetries: 0, onError });
  await result.consumeStream();
  const text = JSON.stringify(await result.text);
  const named = /account is empty|Hello/.test(inspect(error, { depth: 20, showHidden: true }));
  const told = error ? `${error.name} with${named ? '' : 'out'} a word of the body` : 'no error';
  console.log(`${kind}: text ${text}, finish reason ${await result.finishReason}, ${told}`);
  last = error;
}
console.log(`message: ${last.message}`);
server.close();
EOF

expected='stream: text "Hello", finish reason stop, no error
error: text "", finish reason error, AI_InvalidResponseDataError without a word of the body
whole: text "", finish reason error, AI_InvalidResponseDataError without a word of the body
message: Response stream ended without a finish reason.'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: a JSON body with the status 200 is treated in another way." >&2
  exit 1
fi
