#!/usr/bin/env bash
# A client of AG-UI before 1.0 throws at the end of a run whose outcome is one that 1.0 has added.
#
# One would guess: a client ignores members that it does not know, as it does in all other events, and takes
# an outcome that it does not know for an end.
# What happens: of `outcome`, and of nothing else, unknown members and types are errors. All messages have
# arrived by then, but the run counts as failed. Without an outcome, all is well.
# Versions: @ag-ui/client 0.0.59 (CopilotKit 1.74 has it), @ag-ui/client 1.0.0, Node 20.
# Why it matters: a tool of the page that the agent waits for is never executed, and the user reads an error of
# a schema. A client of 1.0 says `protocolVersion` in its request: leave the new outcomes out for others.
#
# The output that was seen:
#   0.0.59, none: ends
#   0.0.59, success with pendingToolCallIds: throws ZodError
#   0.0.59, cancelled: throws ZodError
#   0.0.59, an unknown member of the event: ends
#   1.0.0, none: ends
#   1.0.0, success with pendingToolCallIds: ends
#   1.0.0, cancelled: ends
#   1.0.0, an unknown member of the event: ends
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" \
  old@npm:@ag-ui/client@0.0.59 new@npm:@ag-ui/client@1.0.0

cat > "$dir/probe.mjs" <<'EOF'
import { createServer } from 'node:http';
import { HttpAgent as Old } from 'old';
import { HttpAgent as New } from 'new';

const ends = {
  none: {},
  'success with pendingToolCallIds': { outcome: { type: 'success', pendingToolCallIds: ['call_1'] } },
  cancelled: { outcome: { type: 'cancelled' } },
  'an unknown member of the event': { unknown: true },
};
const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  const { threadId, runId } = JSON.parse(body);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const end = ends[threadId];
  for (const event of [
    { type: 'RUN_STARTED', threadId, runId },
    { type: 'RUN_FINISHED', threadId, runId, ...end },
  ])
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end();
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const url = `http://127.0.0.1:${server.address().port}/`;
console.error = () => undefined;
for (const [version, Agent] of [['0.0.59', Old], ['1.0.0', New]])
  for (const threadId of Object.keys(ends)) {
    const agent = new Agent({ url, threadId });
    agent.addMessage({ id: 'm', role: 'user', content: 'Hi' });
    const seen = await agent.runAgent().then(() => 'ends', ({ name }) => `throws ${name}`);
    console.log(`${version}, ${threadId}: ${seen}`);
  }
server.close();
EOF

expected='0.0.59, none: ends
0.0.59, success with pendingToolCallIds: throws ZodError
0.0.59, cancelled: throws ZodError
0.0.59, an unknown member of the event: ends
1.0.0, none: ends
1.0.0, success with pendingToolCallIds: ends
1.0.0, cancelled: ends
1.0.0, an unknown member of the event: ends'
seen=$(cd "$dir" && timeout 60 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: the old client no longer refuses these ends in this way." >&2
  exit 1
fi
