#!/usr/bin/env bash
# parse-sse: a refusal (503, JSON) reads as a stream that ended well, with no event.
#
# One would guess: parseServerSentEvents(response) throws when the response is not an event stream,
# as the EventSource of a browser closes with an error for each other status or content type.
# What happens: it looks at neither status nor content type. A JSON text has no line that names a
# field of the format, so the loop ends without an event and without an error. With a JSON text over
# several lines it is the same. An answer that was refused looks like an answer that is empty.
# Versions: parse-sse 0.1.0, Node 20.
# Why it matters: a page that posts a question and reads the answer with this package shows an empty
# answer for a bad key, a full queue or a wrong body. `response.ok` must be asked before.
#
# Output that was seen:
#   503 application/json, one line: 0 events, no error
#   401 application/json, indented: 0 events, no error
#   200 text/event-stream: 1 events, no error
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" parse-sse@0.1.0 ||
	{ echo 'npm could not install the package'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { parseServerSentEvents } from 'parse-sse';

const refusal = { statusCode: 503, message: 'The queue is full', code: 'busy' };
const answers = [
  ['503 application/json, one line', 503, 'application/json', JSON.stringify(refusal)],
  ['401 application/json, indented', 401, 'application/json', JSON.stringify(refusal, null, 2)],
  ['200 text/event-stream', 200, 'text/event-stream', 'event: text\ndata: hello\n\n'],
];
const server = createServer((request, response) => {
  const [, status, type, body] = answers[Number(request.url.slice(1))];
  response.writeHead(status, { 'content-type': type }).end(body);
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
for (const [index, [title]] of answers.entries()) {
  const response = await fetch(`http://127.0.0.1:${server.address().port}/${index}`, { method: 'POST' });
  let events = 0;
  let error = 'no error';
  try {
    for await (const _event of parseServerSentEvents(response)) events += 1;
  } catch (thrown) {
    error = `error "${thrown.message}"`;
  }
  console.log(`${title}: ${events} events, ${error}`);
}
server.close();
EOF

seen=$(node "$dir/check.mjs")
expected='503 application/json, one line: 0 events, no error
401 application/json, indented: 0 events, no error
200 text/event-stream: 1 events, no error'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: a refusal is no longer read as an empty stream without an error.'
	exit 1
fi
