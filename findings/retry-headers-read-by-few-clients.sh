#!/usr/bin/env bash
# openai, ai, @langchain/openai: only the first obeys `x-should-retry: false`; LangChain ignores `Retry-After` too.
#
# One would guess: a library that is made for the API of OpenAI, or built upon its client, does what that
# client does with a 503: `x-should-retry: false` stops all repeats, `Retry-After: 4` is waited for.
# What happens: the client itself reads both. `ai` with @ai-sdk/openai waits as told, but repeats in spite of
# `x-should-retry: false`. @langchain/openai has the client inside, switches its repeats off and has its
# own: it ignores both headers and asks again after 1 to 2 seconds.
# Versions: openai 6.49.0, ai 6.0.326, @ai-sdk/openai 3.0.141, @langchain/openai 1.5.8, Node 20.
# Why it matters: a service that must not run an agent a second time cannot rely on the header that says
# so, and one that is full cannot make all clients wait.
#
# Output that was seen (one repeat is allowed in each case):
#   openai: x-should-retry false: 1 requests; Retry-After 4: 2 requests, waited as told
#   ai: x-should-retry false: 2 requests; Retry-After 4: 2 requests, waited as told
#   langchain: x-should-retry false: 2 requests; Retry-After 4: 2 requests, did not wait
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" \
	openai@6.49.0 ai@6.0.326 @ai-sdk/openai@3.0.141 @langchain/openai@1.5.8 @langchain/core@1.4.0 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { createOpenAI } from '@ai-sdk/openai';
import { ChatOpenAI } from '@langchain/openai';
import { generateText } from 'ai';
import OpenAI from 'openai';

const clients = {
  openai: (baseURL) => new OpenAI({ apiKey: 'none', baseURL, maxRetries: 1 }).chat.completions.create({
    model: 'agent',
    messages: [{ role: 'user', content: 'hello' }],
  }),
  ai: (baseURL) => generateText({
    model: createOpenAI({ apiKey: 'none', baseURL }).chat('agent'),
    prompt: 'hello',
    maxRetries: 1,
  }),
  langchain: (baseURL) => new ChatOpenAI({
    model: 'agent',
    apiKey: 'none',
    maxRetries: 1,
    configuration: { baseURL },
  }).invoke('hello'),
};
async function run(client, header, value) {
  const times = [];
  const server = createServer((request, response) => {
    times.push(performance.now());
    request.resume();
    response.writeHead(503, { 'content-type': 'application/json', [header]: value });
    response.end('{"error":{"message":"The queue is full","type":"server_error","param":null,"code":"busy"}}');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  await clients[client](`http://127.0.0.1:${server.address().port}/v1`).catch(() => {});
  server.close();
  return { requests: times.length, pause: times[1] - times[0] };
}
for (const client of Object.keys(clients)) {
  const should = await run(client, 'x-should-retry', 'false');
  const after = await run(client, 'retry-after', '4');
  const waited = after.pause > 3900 ? 'waited as told' : 'did not wait';
  console.log(`${client}: x-should-retry false: ${should.requests} requests; `
    + `Retry-After 4: ${after.requests} requests, ${waited}`);
}
process.exit(0);
EOF

seen=$(node "$dir/check.mjs")
expected='openai: x-should-retry false: 1 requests; Retry-After 4: 2 requests, waited as told
ai: x-should-retry false: 2 requests; Retry-After 4: 2 requests, waited as told
langchain: x-should-retry false: 2 requests; Retry-After 4: 2 requests, did not wait'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: one of the clients treats a header of repeats otherwise.'
	exit 1
fi
