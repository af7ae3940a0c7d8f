#!/usr/bin/env bash
# event-source-polyfill: the position in the stream is sent in the query, never in the header Last-Event-ID.
#
# One would guess: a polyfill of EventSource sends what EventSource sends: after a loss it asks with
# `Last-Event-ID`. That header is what the standard has, and what servers that can resume look at.
# What happens: it asks with `?lastEventId=ID` and sends no header of that name. A server that reads the
# header alone takes each new request for the first one and sends all from the start. The README of the
# package says so in one line, and the name of the parameter is an option; the header is not one.
# Versions: event-source-polyfill 1.0.31, with eventsource 3.0.7 to compare, Node 20.
# Why it matters: this package is the usual one where an EventSource needs an `Authorization` header. An
# agent service that resumes by the header alone shows such a page the whole answer again after each cut.
# The service should read the query parameter as well.
#
# Output that was seen:
#   eventsource: 1 query=- header=- | 2 query=- header=e2
#   event-source-polyfill: 1 query=- header=- | 2 query=lastEventId=e2 header=-
#   words shown by a page, server that reads the header: eventsource one two three | polyfill one two one two
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" event-source-polyfill@1.0.31 eventsource@3.0.7 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { EventSource } from 'eventsource';
import polyfill from 'event-source-polyfill';

const event = (id, word) => `id: e${id}\ndata: ${word}\n\n`;
async function run(Source) {
  const requests = [];
  let told;
  const twice = new Promise((done) => (told = done));
  const server = createServer((request, response) => {
    const header = request.headers['last-event-id'] ?? '-';
    requests.push(`${requests.length + 1} query=${request.url.split('?')[1] ?? '-'} header=${header}`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // The first answer is cut after two events. The server resumes by the header, as the standard has it.
    response.write('retry: 100\n\n');
    if (header === 'e2') response.write(event(3, 'three'));
    else response.write(event(1, 'one') + event(2, 'two'));
    if (requests.length === 1) setTimeout(() => response.end(), 100);
    else setTimeout(told, 500);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const words = [];
  const source = new Source(`http://127.0.0.1:${server.address().port}/`);
  source.onmessage = (message) => words.push(message.data);
  source.onerror = () => {};
  await twice;
  source.close();
  server.closeAllConnections();
  server.close();
  return { requests: requests.join(' | '), words: words.join(' ') };
}
const plain = await run(EventSource);
const other = await run(polyfill.EventSourcePolyfill);
console.log(`eventsource: ${plain.requests}`);
console.log(`event-source-polyfill: ${other.requests}`);
console.log(`words shown by a page, server that reads the header: eventsource ${plain.words} | polyfill ${other.words}`);
process.exit(0);
EOF

seen=$(node "$dir/check.mjs")
expected='eventsource: 1 query=- header=- | 2 query=- header=e2
event-source-polyfill: 1 query=- header=- | 2 query=lastEventId=e2 header=-
words shown by a page, server that reads the header: eventsource one two three | polyfill one two one two'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: the polyfill no longer sends its position in the query alone.'
	exit 1
fi
