#!/usr/bin/env bash
# @ai-sdk/openai: an error inside a stream with status 200 makes the whole request go out again, or not, by a word in its code.
#
# One would guess: once a server has answered 200 and has begun its stream, the request is not repeated.
# Repeats are for statuses like 429 and 503. An error event in the stream is told to the caller.
# What happens: the first events are read ahead. An error before any output gets a made-up status and is
# repeated like that status: 3 requests by default. The status comes from words in `code` and `type`:
# with "invalid" in it, 400 and no repeat; with "timeout" 504, else 500, both repeated. An error after
# the first piece of text is never repeated. @ai-sdk/openai-compatible repeats none of them.
# Versions: ai 6.0.326, @ai-sdk/openai 3.0.141, @ai-sdk/openai-compatible 2.0.92, Node 20.
# Why it matters: an agent that has sent mails or written records and then fails before its first word is
# run 3 times for one question. `maxRetries: 0` in the call stops it.
#
# Output that was seen:
#   openai, before output, code "agent_failed": 3 requests, "The agent failed"
#   openai, before output, code "run_timeout": 3 requests, "The agent failed"
#   openai, before output, code "invalid_tool_result": 1 requests, "The agent failed"
#   openai, after output, code "agent_failed": 1 requests, "The agent failed"
#   openai-compatible, before output, code "agent_failed": 1 requests, "The agent failed"
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" \
	ai@6.0.326 @ai-sdk/openai@3.0.141 @ai-sdk/openai-compatible@2.0.92 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { streamText } from 'ai';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';

async function run(name, when, code) {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume();
    const choice = { index: 0, delta: { role: 'assistant', content: 'one' }, finish_reason: null };
    const piece = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'agent', choices: [choice] };
    const error = { error: { message: 'The agent failed', type: 'server_error', param: null, code } };
    const events = when === 'before' ? [error] : [piece, error];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
  const model = name === 'openai'
    ? createOpenAI({ apiKey: 'none', baseURL }).chat('agent')
    : createOpenAICompatible({ name: 'agent', apiKey: 'none', baseURL })('agent');
  let told = 'nothing';
  const onError = ({ error }) => {
    const last = error?.lastError ?? error;
    told = last?.message ?? JSON.stringify(last);
  };
  const result = streamText({ model, prompt: 'Send the mail', onError });
  await result.consumeStream({ onError: () => {} });
  server.close();
  return `${name}, ${when} output, code "${code}": ${requests} requests, "${told}"`;
}
const lines = await Promise.all([
  run('openai', 'before', 'agent_failed'),
  run('openai', 'before', 'run_timeout'),
  run('openai', 'before', 'invalid_tool_result'),
  run('openai', 'after', 'agent_failed'),
  run('openai-compatible', 'before', 'agent_failed'),
]);
console.log(lines.join('\n'));
process.exit(0);
EOF

seen=$(node "$dir/check.mjs")
expected='openai, before output, code "agent_failed": 3 requests, "The agent failed"
openai, before output, code "run_timeout": 3 requests, "The agent failed"
openai, before output, code "invalid_tool_result": 1 requests, "The agent failed"
openai, after output, code "agent_failed": 1 requests, "The agent failed"
openai-compatible, before output, code "agent_failed": 1 requests, "The agent failed"'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: an error inside a stream of 200 is repeated otherwise than before.'
	exit 1
fi
