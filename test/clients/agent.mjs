/**
 * The agent that clients ask. The text of the query says what it does, and for which case: "count openai-cut". What happens to it
 * is told to the process that has started the service, which opens the gate.
 */
import { once } from 'node:events';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { isApproved, message, QueryError, usage } from 'nest-agent-query';
import { SENTENCE } from './sentences.mjs';

const PATTERN = /\b(count|fail|failing|ask|read|turn) ([\w-]+)/;

/** The cases whose runs need not wait. */
const open = new Set();

process.on('message', ({ open: id }) => {
  open.add(id);
  process.emit(`open ${id}`);
});

export default async function* answer({ parts }, context) {
  const text = parts.map((part) => part.text ?? '').join(' ');
  const [, scenario = 'count', id = text] = PATTERN.exec(text) ?? [];
  tell('begun', id);
  context.signal.addEventListener('abort', () => tell('aborted', id));
  yield* SCENARIOS[scenario](id, { ...context, parts });
  tell('ended', id);
}

const SCENARIOS = {
  async *count(id, { signal }) {
    yield message('one ');
    await gate(id, signal);
    yield message('two ');
    yield usage({ inputTokens: 120, outputTokens: 48 });
    yield message('three');
  },

  fail() {
    throw new QueryError('handler_failed', SENTENCE);
  },

  async *failing(_, { signal }) {
    yield message('one ');
    await pause(100, undefined, { signal });
    throw new QueryError('handler_failed', SENTENCE);
  },

  async *ask(_, { ask }) {
    const call = { name: 'refund', arguments: { customer: 881 }, toolCallId: 'call_9' };
    const [decided] = await ask([{ key: 'refund', kind: 'approval', message: 'Refund?', ...call }]);
    yield message(isApproved(decided) ? 'It was approved.' : 'It was refused.');
  },

  async *read(id, { parts }) {
    tell('read', id, { digests: parts.flatMap((part) => part.sha256 ?? []) });
    yield message('Read.');
  },

  async *turn(id, { history }) {
    tell('turned', id, { turns: history.length });
    yield message('Noted.');
  },
};

/** Waits until the case may go on. */
async function gate(id, signal) {
  if (!open.has(id)) await once(process, `open ${id}`, { signal });
}

function tell(what, id, more) {
  process.send({ what, id, ...more });
}
