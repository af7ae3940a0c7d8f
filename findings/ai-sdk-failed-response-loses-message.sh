#!/usr/bin/env bash
# @ai-sdk/openai: generateText hides why a response failed, when the error has the two members of the API.
#
# One would guess: a Responses answer with `status: "failed"` and `error: { code, message }` (these two
# members are what the API describes) is thrown with that message.
# What happens: the schema of the package wants a member `type` in the error besides. Without it the
# whole answer is "Invalid JSON response", and the message is only found in the text of the body. With
# `type` added, the same answer is thrown with its message. streamText with the same error in
# `response.failed` shows the message, with and without `type`.
# Versions: ai 6.0.326, @ai-sdk/openai 3.0.141, Node 20.
# Why it matters: a user of an agent reads that the service sends bad JSON, where the service said what
# went wrong. A service that is to be called by this package adds `type` to the error.
#
# Output that was seen:
#   generateText, code and message: Invalid JSON response
#   generateText, code, message and type: The search tool did not answer
#   streamText, code and message: The search tool did not answer
#   streamText, code, message and type: The search tool did not answer
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" ai@6.0.326 @ai-sdk/openai@3.0.141 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { generateText, streamText } from 'ai';
import { createOpenAI } from '@ai-sdk/openai';

async function run(title, call, error) {
  const failed = {
    id: 'resp_1', object: 'response', created_at: 1, model: 'agent', status: 'failed', error,
    incomplete_details: null, instructions: null, metadata: {}, output: [], parallel_tool_calls: true,
    temperature: 1, tool_choice: 'auto', tools: [], top_p: 1,
    usage: { input_tokens: 1, output_tokens: 0, total_tokens: 1,
      input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  };
  const server = createServer((request, response) => {
    request.resume();
    const stream = call === streamText;
    response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
    const event = { type: 'response.failed', sequence_number: 0, response: failed };
    response.end(stream ? `event: response.failed\ndata: ${JSON.stringify(event)}\n\n` : JSON.stringify(failed));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const model = createOpenAI({ apiKey: 'none', baseURL: `http://127.0.0.1:${server.address().port}/v1` })('agent');
  let told = 'nothing';
  const onError = ({ error: thrown }) => (told = thrown.message);
  try {
    const result = await call({ model, prompt: 'Search', maxRetries: 0, onError });
    await result.consumeStream?.();
  } catch (thrown) {
    told = thrown.message;
  }
  console.log(`${title}: ${told}`);
  server.close();
}
const plain = { code: 'server_error', message: 'The search tool did not answer' };
await run('generateText, code and message', generateText, plain);
await run('generateText, code, message and type', generateText, { ...plain, type: 'server_error' });
await run('streamText, code and message', streamText, plain);
await run('streamText, code, message and type', streamText, { ...plain, type: 'server_error' });
process.exit(0);
EOF

seen=$(node "$dir/check.mjs")
expected='generateText, code and message: Invalid JSON response
generateText, code, message and type: The search tool did not answer
streamText, code and message: The search tool did not answer
streamText, code, message and type: The search tool did not answer'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: generateText shows the message of a failed response, or streamText hides it.'
	exit 1
fi
