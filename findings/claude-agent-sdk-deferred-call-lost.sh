#!/usr/bin/env bash
# Of two calls of one step that a hook of the Claude Agent SDK defers, the first one is lost.
#
# One would guess: a hook PreToolUse that answers defer for two calls ends the query with both of them,
# and resume asks the hook about both again.
# What happens: the hook is asked about both, and the result names only the second one. With resume the
# hook is asked about the second one only. When that one is allowed, it is executed, and the first one is
# neither executed nor asked about.
# Versions: @anthropic-ai/claude-agent-sdk 0.3.332 (Linux, x64), Node 20.
# Why it matters: a person sees one of two calls, allows it, and believes that all is done. A client must
# defer one call of a step, and deny the others with a reason, so that the model makes them again.
#
# The output that was seen:
#   first query: asked about one, two
#   deferred_tool_use: two
#   resumed query: asked about two
#   executed: two
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" @anthropic-ai/claude-agent-sdk@0.3.332

cat > "$dir/probe.mjs" <<'EOF'
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { query } from '@anthropic-ai/claude-agent-sdk';

const model = { type: 'message', role: 'assistant', model: 'fake', stop_reason: null, stop_sequence: null };
const usage = { input_tokens: 1, output_tokens: 1 };
const call = (name) => {
  const input = { command: `echo ${name} >> made.txt`, description: name };
  return { type: 'tool_use', id: `toolu_${name}`, name: 'Bash', input };
};

/** Two calls, and after the result of a tool a text. */
function blocksFor({ messages, tools = [] }) {
  const isOver = JSON.stringify(messages).includes('tool_result');
  return isOver || tools.length === 0 ? [{ type: 'text', text: 'Done.' }] : [call('one'), call('two')];
}

const server = createServer(async (request, response) => {
  const body = request.method === 'POST' ? await json(request) : {};
  if (!/\/messages$/.test(new URL(request.url, 'http://fake').pathname)) return response.end('{"input_tokens":1}');
  const content = blocksFor(body);
  const stop_reason = content[0].type === 'text' ? 'end_turn' : 'tool_use';
  if (!body.stream) return response.end(JSON.stringify({ ...model, id: 'msg', content, stop_reason, usage }));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (data) => response.write(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
  send({ type: 'message_start', message: { ...model, id: `msg_${Math.random()}`, content: [], usage } });
  content.forEach((block, index) => {
    const { text, input } = block;
    const empty = text === undefined ? { ...block, input: {} } : { type: 'text', text: '' };
    send({ type: 'content_block_start', index, content_block: empty });
    const delta =
      text === undefined
        ? { type: 'input_json_delta', partial_json: JSON.stringify(input) }
        : { type: 'text_delta', text };
    send({ type: 'content_block_delta', index, delta });
    send({ type: 'content_block_stop', index });
  });
  send({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage });
  send({ type: 'message_stop' });
  response.end();
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));

const folder = process.cwd();
for (const name of ['home', 'work']) mkdirSync(name);
const env = {
  PATH: process.env.PATH,
  HOME: `${folder}/home`,
  ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`,
  ANTHROPIC_API_KEY: 'none',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
};
const sessionId = '00000000-0000-5000-a000-000000000001';

/** Executes a query whose hook decides all calls in one way, and returns what it was asked and the result. */
async function execute(text, permissionDecision, options) {
  const asked = [];
  const decide = async ({ tool_input: { description } }) => {
    asked.push(description);
    return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision } };
  };
  let end;
  const isOver = new Promise((done) => (end = done));
  // An input that ends at once refuses the calls.
  async function* prompt() {
    yield { type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null };
    await isOver;
  }
  const hooks = { PreToolUse: [{ hooks: [decide] }] };
  const settings = { cwd: `${folder}/work`, env, model: 'fake', settingSources: [], hooks, ...options };
  for await (const message of query({ prompt: prompt(), options: settings })) {
    if (message.type !== 'result') continue;
    end();
    return { asked: asked.sort().join(', '), result: message };
  }
}

const first = await execute('Do both.', 'defer', { sessionId });
console.log(`first query: asked about ${first.asked}`);
console.log(`deferred_tool_use: ${first.result.deferred_tool_use?.input.description}`);
const second = await execute('Go on.', 'allow', { resume: sessionId });
console.log(`resumed query: asked about ${second.asked}`);
console.log(`executed: ${readFileSync('work/made.txt', 'utf8').trim().split('\n').join(', ')}`);
server.closeAllConnections();
server.close();
EOF

expected='first query: asked about one, two
deferred_tool_use: two
resumed query: asked about two
executed: two'
seen=$(cd "$dir" && timeout 120 node probe.mjs)
echo "$seen"
if [ "$seen" != "$expected" ]; then
  echo "The behaviour has changed: of two deferred calls another one is lost, or none." >&2
  exit 1
fi
