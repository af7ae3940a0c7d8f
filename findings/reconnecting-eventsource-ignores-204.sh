#!/usr/bin/env bash
# reconnecting-eventsource: the 204 that ends an EventSource is followed by a new request, which has lost the position.
#
# One would guess: a wrapper that "reconnects" keeps what EventSource does right: 204 means "do not ask
# again", and a new request carries the id of the last event.
# What happens: after the 204 it makes a new EventSource. A page that uses `onmessage` alone then asks
# without any position, so the server starts from the beginning. A page that uses addEventListener asks
# with `?lastEventId=ID`, without the header. Only the wrapped EventSource sends the header, in between.
# Versions: reconnecting-eventsource 1.6.5 with eventsource 3.0.7 as the class, Node 20.
# Why it matters: the answer of an agent ends. A service says so with 204 to the request that comes after
# the last event. With this package the page asks again without end, and shows the answer again each
# time. The page must call close() at the event that ends the answer.
#
# Output that was seen:
#   EventSource itself: start | header=e2 -> 204
#   with onmessage: start | header=e2 -> 204 | start | header=e2 -> 204
#   with addEventListener: start | header=e2 -> 204 | query lastEventId=e2 -> 204 | query lastEventId=e2 -> 204
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" reconnecting-eventsource@1.6.5 eventsource@3.0.7 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { EventSource } from 'eventsource';

const Reconnecting = createRequire(import.meta.url)('reconnecting-eventsource').default;
async function run(title, open) {
  const requests = [];
  let told;
  const enough = new Promise((done) => (told = done));
  const server = createServer((request, response) => {
    const header = request.headers['last-event-id'];
    const query = request.url.split('?')[1];
    if (header === undefined && query === undefined) {
      requests.push('start');
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('retry: 50\n\nid: e1\ndata: one\n\nid: e2\ndata: two\n\n');
    } else {
      requests.push(`${header === undefined ? `query ${query}` : `header=${header}`} -> 204`);
      response.writeHead(204).end();
    }
    if (requests.length === 4) told();
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const source = open(`http://127.0.0.1:${server.address().port}/`);
  const timer = setTimeout(told, 2000);
  await enough;
  clearTimeout(timer);
  source.close();
  server.closeAllConnections();
  server.close();
  console.log(`${title}: ${requests.slice(0, 4).join(' | ')}`);
}
const options = { eventSourceClass: EventSource, max_retry_time: 100 };
await run('EventSource itself', (url) => new EventSource(url));
await run('with onmessage', (url) => Object.assign(new Reconnecting(url, options), { onmessage() {} }));
await run('with addEventListener', (url) => {
  const source = new Reconnecting(url, options);
  source.addEventListener('message', () => {});
  return source;
});
process.exit(0);
EOF

seen=$(node "$dir/check.mjs")
expected='EventSource itself: start | header=e2 -> 204
with onmessage: start | header=e2 -> 204 | start | header=e2 -> 204
with addEventListener: start | header=e2 -> 204 | query lastEventId=e2 -> 204 | query lastEventId=e2 -> 204'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: a 204 ends the source, or the position is sent otherwise.'
	exit 1
fi
