#!/usr/bin/env bash
# eventsource-client: a request that is refused with 400 is sent again and again, and nobody is told the status.
#
# One would guess: a client of server-sent events stops at a status that is not 200 and says so, as the
# EventSource of a browser does. At least a 400 to a POST is not sent again, as it can never succeed.
# What happens: each status but 204 is taken as an open stream. onConnect is called, the JSON text of the
# refusal is read as a stream without events, onDisconnect is called without an argument, and the same
# POST is sent again after the delay of 2 seconds, without end. No callback gets the status or the text.
# Versions: eventsource-client 1.2.0, Node 20.
# Why it matters: a page that asks an agent this way hammers the service for ever with a body that is
# wrong or a key that has expired, and can only show "disconnected". A `fetch` of one's own that throws
# is repeated too; the status must be looked at there, and close() must be called.
#
# Output that was seen:
#   POST requests in 5 seconds: 3
#   callbacks of the first: onConnect() onScheduleReconnect({"delay":2000}) onDisconnect()
#   messages: 0
#   state before close(): connecting
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" eventsource-client@1.2.0 ||
	{ echo 'npm could not install the package'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { createEventSource } from 'eventsource-client';

let requests = 0;
const server = createServer((request, response) => {
  if (request.method === 'POST') requests += 1;
  request.resume();
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end('{"statusCode":400,"message":"query must be a string"}');
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));

const calls = [];
const note = (name) => (...values) => calls.push(`${name}(${values.map((value) => JSON.stringify(value)).join()})`);
let messages = 0;
const source = createEventSource({
  url: `http://127.0.0.1:${server.address().port}/`,
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"query":1}',
  onMessage: () => (messages += 1),
  onConnect: note('onConnect'),
  onDisconnect: note('onDisconnect'),
  onScheduleReconnect: note('onScheduleReconnect'),
});
await new Promise((done) => setTimeout(done, 5000));
console.log(`POST requests in 5 seconds: ${requests}`);
console.log(`callbacks of the first: ${calls.slice(0, 3).join(' ')}`);
console.log(`messages: ${messages}`);
console.log(`state before close(): ${source.readyState}`);
source.close();
server.close();
EOF

seen=$(node "$dir/check.mjs")
expected='POST requests in 5 seconds: 3
callbacks of the first: onConnect() onScheduleReconnect({"delay":2000}) onDisconnect()
messages: 0
state before close(): connecting'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: a 400 is no longer repeated, or a callback tells its status.'
	exit 1
fi
