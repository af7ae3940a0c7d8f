#!/usr/bin/env bash
# @langchain/openai: stream() ends without an error when the response failed; invoke() throws for the same response.
#
# One would guess: a Responses stream that ends with `response.failed` makes the loop over stream() throw,
# as invoke() throws for a response whose status is "failed".
# What happens: the converter of the stream knows `response.completed` and `response.incomplete` only.
# `response.failed` makes no chunk and no error. The loop ends as after a full answer, and no chunk has
# `status`: a finished answer has "completed" in the metadata of its last chunk, a failed one has nothing.
# Versions: @langchain/openai 1.5.8, @langchain/core 1.4.0 (brings openai 6.49.0), Node 20.
# Why it matters: half an answer is shown, kept and given to the next step as a whole one. A caller must
# look for `response_metadata.status === "completed"` in the joined chunks, and take its absence as failed.
#
# Output that was seen:
#   stream, completed: "one two" status=completed, no error
#   stream, failed: "one two" status=undefined, no error
#   invoke, completed: "one two" status=completed, no error
#   invoke, failed: error "The search tool did not answer"
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @langchain/openai@1.5.8 @langchain/core@1.4.0 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { ChatOpenAI } from '@langchain/openai';

const part = { type: 'output_text', text: 'one two', annotations: [] };
const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3,
  input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
async function run(title, way, status) {
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] };
  const error = status === 'failed' ? { code: 'server_error', message: 'The search tool did not answer' } : null;
  const base = { id: 'resp_1', object: 'response', created_at: 1, model: 'agent', metadata: {}, tools: [] };
  const full = { ...base, status, error, output: [item], usage };
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const events = [
    { type: 'response.created', response: { ...base, status: 'in_progress', error: null, output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...at, delta: 'one ' },
    { type: 'response.output_text.delta', ...at, delta: 'two' },
    { type: `response.${status}`, response: full },
  ].map((event, index) => ({ ...event, sequence_number: index }));
  const server = createServer((request, response) => {
    request.resume();
    const stream = way === 'stream';
    response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
    const lines = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end(stream ? lines.join('') : JSON.stringify(full));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
  const options = { model: 'agent', apiKey: 'none', useResponsesApi: true, maxRetries: 0, configuration: { baseURL } };
  const model = new ChatOpenAI(options);
  try {
    let message;
    if (way === 'invoke') message = await model.invoke('Search');
    else for await (const chunk of await model.stream('Search')) message = message?.concat(chunk) ?? chunk;
    console.log(`${title}: ${JSON.stringify(message.text)} status=${message.response_metadata.status}, no error`);
  } catch (thrown) {
    console.log(`${title}: error "${thrown.message}"`);
  }
  server.close();
}
await run('stream, completed', 'stream', 'completed');
await run('stream, failed', 'stream', 'failed');
await run('invoke, completed', 'invoke', 'completed');
await run('invoke, failed', 'invoke', 'failed');
process.exit(0);
EOF

seen=$(node "$dir/check.mjs")
expected='stream, completed: "one two" status=completed, no error
stream, failed: "one two" status=undefined, no error
invoke, completed: "one two" status=completed, no error
invoke, failed: error "The search tool did not answer"'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: stream() no longer ends without an error when the response failed.'
	exit 1
fi
