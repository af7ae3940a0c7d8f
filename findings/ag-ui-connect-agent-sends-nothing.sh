#!/usr/bin/env bash
# @ag-ui/client: HttpAgent.connectAgent() sends no request, and resolves as if it had connected.
#
# One would guess: connectAgent(), the public method to load a thread that exists, asks the server at
# `url`. Where an agent cannot do that, the promise rejects: the package exports an error class for it,
# AGUIConnectNotImplementedError.
# What happens: HttpAgent has no connect(). The default one throws that error, connectAgent() drops it,
# and the promise resolves with no messages. The subscriber hears onRunInitialized and onRunFinalized, and
# neither onRunFailed nor onRunErrorEvent. A thread that could not be loaded looks like an empty thread.
# A class of one's own whose connect() calls run() does ask the server.
# Versions: @ag-ui/client 1.0.0, Node 20.
# Why it matters: a page that calls connectAgent() at its start to show what was said before shows an
# empty conversation, whatever the service would answer. There is no error to find the reason with.
#
# Output that was seen:
#   connectAgent of HttpAgent: 0 requests, {"newMessages":[]}, onRunInitialized onRunFinalized
#   runAgent of HttpAgent: 1 requests, {"newMessages":["hello"]}, onRunInitialized onRunFinalized
#   connectAgent of a class with connect(): 1 requests, {"newMessages":["hello"]}, onRunInitialized onRunFinalized
#   the default connect(): AGUIConnectNotImplementedError
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @ag-ui/client@1.0.0 ||
	{ echo 'npm could not install the package'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { createServer } from 'node:http';
import { AGUIConnectNotImplementedError, HttpAgent } from '@ag-ui/client';

let requests = 0;
const server = createServer(async (request, response) => {
  requests += 1;
  let body = '';
  for await (const chunk of request) body += chunk;
  const { threadId, runId } = JSON.parse(body);
  const events = [
    { type: 'RUN_STARTED', threadId, runId },
    { type: 'TEXT_MESSAGE_START', messageId: 'm1', role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'hello' },
    { type: 'TEXT_MESSAGE_END', messageId: 'm1' },
    { type: 'RUN_FINISHED', threadId, runId },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const options = { url: `http://127.0.0.1:${server.address().port}/`, threadId: 'thread-1' };

async function show(title, agent, method) {
  requests = 0;
  const heard = [];
  const names = ['onRunInitialized', 'onRunFailed', 'onRunErrorEvent', 'onRunFinalized'];
  const subscriber = Object.fromEntries(names.map((name) => [name, () => void heard.push(name)]));
  const outcome = await agent[method]({}, subscriber).catch((error) => ({ rejected: error.name }));
  const short = { ...outcome, newMessages: outcome.newMessages?.map((message) => message.content) };
  console.log(`${title}: ${requests} requests, ${JSON.stringify(short)}, ${heard.join(' ')}`);
}
await show('connectAgent of HttpAgent', new HttpAgent(options), 'connectAgent');
await show('runAgent of HttpAgent', new HttpAgent(options), 'runAgent');
class Connecting extends HttpAgent {
  connect(input) {
    return this.run(input);
  }
}
await show('connectAgent of a class with connect()', new Connecting(options), 'connectAgent');
try {
  new HttpAgent(options).connect({});
} catch (error) {
  const known = error instanceof AGUIConnectNotImplementedError;
  console.log(`the default connect(): ${known ? 'AGUIConnectNotImplementedError' : error.name}`);
}
server.close();
EOF

seen=$(node "$dir/check.mjs")
expected='connectAgent of HttpAgent: 0 requests, {"newMessages":[]}, onRunInitialized onRunFinalized
runAgent of HttpAgent: 1 requests, {"newMessages":["hello"]}, onRunInitialized onRunFinalized
connectAgent of a class with connect(): 1 requests, {"newMessages":["hello"]}, onRunInitialized onRunFinalized
the default connect(): AGUIConnectNotImplementedError'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: connectAgent of HttpAgent asks the server, or says that it cannot.'
	exit 1
fi
