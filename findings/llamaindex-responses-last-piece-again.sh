#!/usr/bin/env bash
# @llamaindex/openai: with openaiResponses, the joined pieces of a stream are longer than the answer.
#
# One would guess: the `delta`s of the chunks, joined, are the answer. It is so with `openai` of the same
# package, and all examples of a stream print `chunk.delta`.
# What happens: each event of the Responses API becomes a chunk, and the piece of text that came last is
# put into each chunk until the next piece comes. So the last piece comes once more for each event after
# it: `output_text.done`, `content_part.done`, `output_item.done`, `completed`. Events before the first
# piece have an empty `delta`. The right text is found with `chunk.raw.type === "response.output_text.delta"`.
# Versions: @llamaindex/openai 0.4.22 (brings openai 5.23.2), Node 20.
# Why it matters: an agent that shows or keeps the joined pieces shows its last piece five times. The
# number depends on the events that the server sends, so a plain stub of a server hides it.
#
# Output that was seen:
#   events of the server: 9
#   chunks: "", "", "", "The answer", " is 42.", " is 42.", " is 42.", " is 42.", " is 42."
#   joined: The answer is 42. is 42. is 42. is 42. is 42.
#   without a stream: The answer is 42.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @llamaindex/openai@0.4.22 openai@5.23.2 ||
	{ echo 'npm could not install the package'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { openaiResponses } from '@llamaindex/openai';

const part = { type: 'output_text', text: 'The answer is 42.', annotations: [] };
const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] };
const usage = { input_tokens: 1, output_tokens: 5, total_tokens: 6 };
const base = { id: 'resp_1', object: 'response', created_at: 1, model: 'agent', tools: [], error: null };
const full = { ...base, status: 'completed', output: [item], usage };
const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const events = [
  { type: 'response.created', response: { ...base, status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
  { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
  { type: 'response.output_text.delta', ...at, delta: 'The answer' },
  { type: 'response.output_text.delta', ...at, delta: ' is 42.' },
  { type: 'response.output_text.done', ...at, text: part.text },
  { type: 'response.content_part.done', ...at, part },
  { type: 'response.output_item.done', output_index: 0, item },
  { type: 'response.completed', response: full },
].map((event, index) => ({ ...event, sequence_number: index }));
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const stream = JSON.parse(body).stream === true;
  response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
  const lines = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end(stream ? lines.join('') : JSON.stringify(full));
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));

const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const llm = openaiResponses({ model: 'gpt-4o', apiKey: 'none', baseURL, maxRetries: 0 });
const messages = [{ role: 'user', content: 'What is the answer?' }];
const pieces = [];
for await (const chunk of await llm.chat({ messages, stream: true })) pieces.push(chunk.delta);
const whole = await llm.chat({ messages });
console.log(`events of the server: ${events.length}`);
console.log(`chunks: ${pieces.map((piece) => JSON.stringify(piece)).join(', ')}`);
console.log(`joined: ${pieces.join('')}`);
console.log(`without a stream: ${[whole.message.content].flat().map((piece) => piece.text ?? piece).join('')}`);
server.close();
EOF

seen=$(node "$dir/check.mjs")
expected='events of the server: 9
chunks: "", "", "", "The answer", " is 42.", " is 42.", " is 42.", " is 42.", " is 42."
joined: The answer is 42. is 42. is 42. is 42. is 42.
without a stream: The answer is 42.'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: the last piece of text no longer comes once more for each later event.'
	exit 1
fi
