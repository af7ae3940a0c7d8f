#!/usr/bin/env bash
# @langchain/langgraph: a run that failed leaves its question in the thread, and the next question goes out with both.
#
# One would guess: an invoke() that throws has written nothing, as a transaction that fails. Or: a new
# invoke() with a new message replaces the input that was never answered.
# What happens: the input is a checkpoint of its own, written before the first node runs. The thread is
# left with the question and with the failed node still to come. A new message is added to it, so the
# model gets two questions in a row. invoke(null) is what runs the failed node again with one question.
# Versions: @langchain/langgraph 1.7.3, @langchain/core 1.4.0, MemorySaver, Node 20.
# Why it matters: "something went wrong, try again" makes a person send the same text again, and the
# model reads it twice from then on. A service must continue with null, or remove the message, after a
# failure.
#
# Output that was seen:
#   after the failure: refused; thread: first; next: model
#   new message: the model gets first + second; thread: first + second + ok
#   invoke(null): the model gets first; thread: first + ok
#   checkpoints that the failed run left: 2 (input, loop)
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @langchain/langgraph@1.7.3 @langchain/core@1.4.0 ||
	{ echo 'npm could not install the packages'; exit 2; }

cat >"$dir/check.mjs" <<'EOF'
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

const text = (messages) => messages.map((message) => message.content).join(' + ');
function build() {
  const asked = [];
  const model = async ({ messages }) => {
    asked.push(text(messages));
    if (asked.length === 1) throw new Error('refused');
    return { messages: [new AIMessage('ok')] };
  };
  const graph = new StateGraph(MessagesAnnotation).addNode('model', model).addEdge(START, 'model');
  return { asked, app: graph.compile({ checkpointer: new MemorySaver() }) };
}
const config = { configurable: { thread_id: 'thread-1' } };
async function fail(app) {
  const input = { messages: [new HumanMessage('first')] };
  const failure = await app.invoke(input, config).then(() => 'no failure', (error) => error.message);
  const { values, next } = await app.getState(config);
  return `after the failure: ${failure}; thread: ${text(values.messages)}; next: ${next.join()}`;
}
const one = build();
console.log(await fail(one.app));
const added = await one.app.invoke({ messages: [new HumanMessage('second')] }, config);
console.log(`new message: the model gets ${one.asked[1]}; thread: ${text(added.messages)}`);

const two = build();
await fail(two.app);
const sources = [];
for await (const state of two.app.getStateHistory(config)) sources.unshift(state.metadata.source);
const resumed = await two.app.invoke(null, config);
console.log(`invoke(null): the model gets ${two.asked[1]}; thread: ${text(resumed.messages)}`);
console.log(`checkpoints that the failed run left: ${sources.length} (${sources.join(', ')})`);
EOF

seen=$(node "$dir/check.mjs")
expected='after the failure: refused; thread: first; next: model
new message: the model gets first + second; thread: first + second + ok
invoke(null): the model gets first; thread: first + ok
checkpoints that the failed run left: 2 (input, loop)'
echo "$seen"
if [ "$seen" != "$expected" ]; then
	echo 'The behaviour has changed: a failed run leaves another thread, or the next one sends something else.'
	exit 1
fi
