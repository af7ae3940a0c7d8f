#!/usr/bin/env bash
# A request that the model refuses is a result with subtype success in the Claude Agent SDK.
#
# One would guess: a query whose key is refused with 401 throws, or its result has an error subtype, of
# which the types list four; subtype success means that there is an answer.
# What happens: the result has subtype success and is_error true, and the text of its answer is the
# error. Only after this result is delivered does the loop throw an Error with the same text.
# Versions: @anthropic-ai/claude-agent-sdk 0.3.332 (Linux, x64), Node 20.
# Why it matters: a client that looks at subtype, or leaves the loop at the result, shows the error as an
# answer of Claude and stores it as such. It must look at is_error first.
#
# The output that was seen:
#   result: subtype success, is_error true, terminal_reason api_error, api_error_status 401
#   the answer is the error: true
#   then the loop throws: true
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" @anthropic-ai/claude-agent-sdk@0.3.332

cat > "$dir/probe.mjs" <<'EOF'
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { query } from '@anthropic-ai/claude-agent-sdk';

const REFUSED = 'This key is refused.';
const server = createServer((request, response) => {
  const error = { type: 'authentication_error', message: REFUSED };
  request.resume();
  response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ type: 'error', error }));
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const folder = process.cwd();
for (const name of ['home', 'work']) mkdirSync(name);
const env = {
  PATH: process.env.PATH,
  HOME: `${folder}/home`,
  ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`,
  ANTHROPIC_API_KEY: 'none',
  CLAUDE_CODE_MAX_RETRIES: '0',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
};
let isThrown = false;
try {
  const options = { cwd: `${folder}/work`, env, model: 'fake', settingSources: [] };
  for await (const message of query({ prompt: 'Say hello.', options })) {
    if (message.type !== 'result') continue;
    const { subtype, is_error, terminal_reason, api_error_status, result } = message;
    const status = `terminal_reason ${terminal_reason}, api_error_status ${api_error_status}`;
    console.log(`result: subtype ${subtype}, is_error ${is_error}, ${status}`);
    console.log(`the answer is the error: ${String(result).includes(REFUSED)}`);
  }
} catch (error) {
  isThrown = error.message.includes(REFUSED);
}
console.log(`then the loop throws: ${isThrown}`);
server.closeAllConnections();
server.close();
EOF

expected='result: subtype success, is_error true, terminal_reason api_error, api_error_status 401
the answer is the error: true
then the loop throws: true'
seen=$(cd "$dir" && timeout 120 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: a refused request is reported in another way." >&2
  exit 1
fi
