#!/usr/bin/env bash
# @openai/agents: after a failed run the session has the question when the run was streamed, and has not when it was not.
#
# One would guess: `stream: true` changes how the answer comes, not what the session keeps. A run that
# fails leaves either its question or nothing, in both ways.
# What happens: run() without `stream` saves at the end, so a failed run leaves the session as it was. With
# `stream: true` the question is saved before the model is asked. It stays, without an answer, and the
# next run of the session sends both questions to the model.
# Versions: @openai/agents 0.14.3, zod 4.1.12, Node 20.
# Why it matters: somebody asks again after an error. The streamed agent then gets the question twice, or
# the old one as well and answers both. A service must take the last item away itself, with popItem(),
# when a streamed run fails, and must not do so for the other way.
#
# Output that was seen:
#   not streamed, first run: refused; kept: -; second run sends: second question
#   streamed, first run: refused; kept: first question; second run sends: first question + second question
#   streamed, popItem() after the failure; kept: -; second run sends: second question
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @openai/agents@0.14.3 zod@4.1.12 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { Agent, MemorySession, Runner } from '@openai/agents';

const text = (items) => items.map((item) => item.content).join(' + ') || '-';
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const content = [{ type: 'output_text', text: 'ok' }];
const output = [{ type: 'message', role: 'assistant', status: 'completed', id: 'm1', content }];

/** A model that fails at its first call, and notes what it is asked. */
class Model {
  asked = [];
  begin(request) {
    this.asked.push(text(request.input));
    if (this.asked.length === 1) throw new Error('refused');
  }
  async getResponse(request) {
    this.begin(request);
    return { usage, output };
  }
  async *getStreamedResponse(request) {
    this.begin(request);
    yield { type: 'response_done', response: { id: 'r1', usage, output } };
  }
}
async function show(stream, pop) {
  const model = new Model();
  const agent = new Agent({ name: 'agent', model });
  const session = new MemorySession();
  const runner = new Runner({ tracingDisabled: true });
  const ask = async (question) => {
    const result = await runner.run(agent, question, { session, stream });
    if (stream) {
      for await (const _event of result);
      await result.completed;
    }
  };
  const failure = await ask('first question').then(() => 'no failure', (error) => error.message);
  if (pop) await session.popItem();
  const kept = text(await session.getItems());
  await ask('second question');
  return { failure, end: `kept: ${kept}; second run sends: ${model.asked[1]}` };
}
const plain = await show(false, false);
console.log(`not streamed, first run: ${plain.failure}; ${plain.end}`);
const streamed = await show(true, false);
console.log(`streamed, first run: ${streamed.failure}; ${streamed.end}`);
console.log(`streamed, popItem() after the failure; ${(await show(true, true)).end}`);
EOF

seen=$(node "$dir/check.mjs")
expected='not streamed, first run: refused; kept: -; second run sends: second question
streamed, first run: refused; kept: first question; second run sends: first question + second question
streamed, popItem() after the failure; kept: -; second run sends: second question'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: streamed and other runs leave the same in the session, or another thing.'
	exit 1
fi
