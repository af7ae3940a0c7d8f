#!/usr/bin/env bash
# event-source-polyfill: in Node, the 204 that ends an EventSource is taken for a loss, and the polyfill asks again without end.
#
# One would guess: 204 closes the source, as the standard has it, and as this package does it in browsers.
# What happens: the package prefers `fetch` to XMLHttpRequest, and reads `response.body.getReader()` first of
# all. For a 204, `body` is null in Node, so that a TypeError comes before the status is looked at. It is
# written to the console, and the polyfill asks again, after waits that grow to 16 times the first one.
# In Chromium the same page is closed after one 204: there the code gets past that line.
# Versions: event-source-polyfill 1.0.31, with eventsource 3.0.7 to compare, Node 20.
# Why it matters: tests and servers use the package in Node because it sends headers. A service that says
# with 204 that an answer is complete is asked for it again and again. Call close() at the last event.
#
# Output that was seen:
#   eventsource: requests 2, closed true
#   event-source-polyfill: requests 3 and more, closed false, error of the last: TypeError
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" event-source-polyfill@1.0.31 eventsource@3.0.7 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { EventSource } from 'eventsource';
import polyfill from 'event-source-polyfill';

// The polyfill writes each error to the console.
console.error = () => {};
async function run(Source) {
  let requests = 0;
  let told;
  const enough = new Promise((done) => (told = done));
  const server = createServer((request, response) => {
    requests += 1;
    if (requests > 1) {
      response.writeHead(204).end();
      if (requests === 3) setTimeout(told, 200);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end('retry: 1000\n\nid: e1\ndata: one\n\n');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const source = new Source(`http://127.0.0.1:${server.address().port}/`);
  let error;
  source.onerror = (event) => {
    error = event.error?.name;
    if (source.readyState === 2) told();
  };
  await enough;
  const isClosed = source.readyState === 2;
  source.close();
  server.closeAllConnections();
  server.close();
  return { requests, isClosed, error };
}
const plain = await run(EventSource);
console.log(`eventsource: requests ${plain.requests}, closed ${plain.isClosed}`);
const other = await run(polyfill.EventSourcePolyfill);
const count = other.requests >= 3 ? '3 and more' : other.requests;
console.log(`event-source-polyfill: requests ${count}, closed ${other.isClosed}, error of the last: ${other.error}`);
process.exit(0);
EOF

seen=$(node "$dir/check.mjs")
expected='eventsource: requests 2, closed true
event-source-polyfill: requests 3 and more, closed false, error of the last: TypeError'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: a 204 closes the polyfill in Node, or fails otherwise.'
	exit 1
fi
