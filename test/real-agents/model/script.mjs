import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { argumentsOf, toolFor } from './tools.mjs';

/** What a call of the agent's own, such as one for a title, gets: it offers no tools. */
const ASIDE = 'A conversation';

/**
 * What the model answers, as steps: `status`, `thought`, `text`, `call`, `wait` and `cut`.
 *
 * The newest `DO <verb> <argument>` in what the person wrote says it:
 *
 * - `say TEXT`, `think TEXT`: the text in three pieces
 * - `run COMMAND`, `twice COMMAND`: one call of the shell, or two in one step
 * - `write NAME`: one call that writes a file of the session's folder
 * - `slow COUNT`: as many pieces of text, ten in a second
 * - `status CODE`: an error of HTTP
 * - `cut`, `silence`: a beginning, and then the end of the connection, or nothing
 *
 * What follows the result of a tool is a text with the result. Agents put texts of their own around the prompt, and repeat
 * requests, so messages are not counted.
 *
 * @param request `{ tools, messages }`; messages are `{ role: 'user' | 'assistant' | 'tool', text }`
 */
export async function* stepsOf({ tools, messages }) {
  const last = messages.findLast(({ text }) => text.trim() !== '');
  if (tools.length === 0) return yield { kind: 'text', text: ASIDE };
  if (last?.role === 'tool')
    return yield* pieces('text', `The tool said ${JSON.stringify(last.text.slice(-300))}.`);
  const order = ordersIn(messages).at(-1);
  if (!order) return yield* pieces('text', 'There is nothing to do.');
  yield* VERBS[order.verb](order.argument, tools, messages);
}

/** All orders that the model sees, the newest last. */
export function ordersIn(messages) {
  const texts = messages.filter(({ role }) => role === 'user').map(({ text }) => text);
  return [...texts.join('\n').matchAll(/\bDO (\w+)(?: ([^\n"<\\]*))?/g)]
    .map(([, verb, argument = '']) => ({ verb, argument: argument.trim() }))
    .filter(({ verb }) => verb in VERBS);
}

const VERBS = {
  *say(text) {
    yield* pieces('text', text);
  },
  *think(text) {
    yield* pieces('thought', `I think about ${text}`);
    yield* pieces('text', text);
  },
  *run(command, tools) {
    yield call(tools, 'shell', { command });
  },
  *twice(command, tools) {
    yield call(tools, 'shell', { command: `${command}1` });
    yield call(tools, 'shell', { command: `${command}2` });
  },
  *write(name, tools) {
    yield call(tools, 'write', { name, content: 'one\ntwo\n' });
  },
  async *slow(count) {
    for (let number = 1; number <= Number(count); number += 1) {
      yield { kind: 'text', text: `${number} ` };
      await pause(100);
    }
  },
  *status(code) {
    yield { kind: 'status', code: Number(code) };
  },
  async *cut() {
    yield* pieces('text', 'This is cut in');
    // What was written must have left before the connection is cut.
    await pause(200);
    yield { kind: 'cut' };
  },
  *silence() {
    yield* pieces('text', 'Nothing follows');
    yield { kind: 'wait' };
  },
};

function* pieces(kind, text) {
  const length = Math.ceil(text.length / 3);
  for (let at = 0; at < text.length; at += length) yield { kind, text: text.slice(at, at + length) };
}

let calls = 0;

function call(tools, purpose, wanted) {
  const tool = toolFor(tools, purpose);
  if (!tool) return { kind: 'text', text: `There is no tool for ${purpose}.` };
  calls += 1;
  return {
    kind: 'call',
    id: `call_${process.pid}_${calls}`,
    name: tool.name,
    arguments: argumentsOf(tool, wanted),
  };
}
