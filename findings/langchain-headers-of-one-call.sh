#!/usr/bin/env bash
# @langchain/openai: headers for one call are sent by `invoke` from one option only, and by `stream` from another one only.
#
# One would guess: a header for one call, such as an Idempotency-Key, is given in the same place whether the
# answer is streamed or not.
# What happens: `invoke` sends those in `options.headers`, and drops `headers`. `stream` sends those in
# `headers`, and drops `options.headers`. Nothing is said about what was dropped.
# Versions: @langchain/openai 1.5.8, @langchain/core 1.4.0, Node 20.
# Why it matters: a key that shall keep an agent from being run a second time is not sent, and nobody notices
# until a connection is cut. Give both.
#
# Output that was seen:
#   invoke, headers: not sent
#   invoke, options.headers: sent
#   stream, headers: sent
#   stream, options.headers: not sent
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @langchain/openai@1.5.8 @langchain/core@1.4.0 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { ChatOpenAI } from '@langchain/openai';

let sent = false;
const server = createServer((request, response) => {
  sent = request.headers['idempotency-key'] === 'k1';
  request.resume();
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end('{"error":{"message":"no","type":"t","param":null,"code":"c"}}');
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const model = new ChatOpenAI({ model: 'agent', apiKey: 'none', maxRetries: 0, configuration: { baseURL } });
const headers = { 'Idempotency-Key': 'k1' };
for (const way of ['invoke', 'stream'])
  for (const [name, options] of [['headers', { headers }], ['options.headers', { options: { headers } }]]) {
    sent = false;
    try {
      const answer = await model[way]('hello', options);
      if (way === 'stream') for await (const chunk of answer) void chunk;
    } catch {
      // The server refuses each request.
    }
    console.log(`${way}, ${name}: ${sent ? 'sent' : 'not sent'}`);
  }
process.exit(0);
EOF

seen=$(node "$dir/check.mjs")
expected='invoke, headers: not sent
invoke, options.headers: sent
stream, headers: sent
stream, options.headers: not sent'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: headers of one call are sent otherwise than before.'
	exit 1
fi
