/**
 * A coding agent without a model: it speaks the Agent Client Protocol (ACP), a line of JSON-RPC for each message. A question with
 * "write" makes it ask whether it may write a file. Remove it when you have chosen an agent.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const HELP =
  'I am a script, not a coding agent: no `ACP_COMMAND` is set. Say *Write hello*, and I ask whether I may.';

const OPTIONS = [
  { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
];

/** By the ids of sessions: where the agent works. */
const folders = new Map();
/** What waits for an answer, by the ids of requests. */
const waiting = new Map();

const METHODS = {
  initialize: () => ({
    protocolVersion: 1,
    agentCapabilities: {},
    agentInfo: { name: 'script', version: '1' },
  }),
  'session/new': ({ cwd }) => {
    const sessionId = crypto.randomUUID();
    folders.set(sessionId, cwd);
    return { sessionId };
  },
  'session/prompt': answer,
};

for await (const line of createInterface({ input: process.stdin })) void handle(JSON.parse(line));

async function handle({ id, method, params, result }) {
  if (method === undefined) return waiting.get(id)?.(result);
  // Of notifications there is only the end of a turn, which waits for nothing here.
  if (id === undefined) return;
  const work = METHODS[method];
  if (work) send({ id, result: await work(params) });
  else send({ id, error: { code: -32601, message: `There is no method ${method}.` } });
}

async function answer({ sessionId, prompt }) {
  const question = prompt.map(({ text = '' }) => text).join('\n');
  const [, content] = /\bwrite\s+(.+)/is.exec(question) ?? [];
  await (content === undefined ? say(sessionId, HELP) : write(sessionId, content));
  return { stopReason: 'end_turn' };
}

async function write(sessionId, newText) {
  const path = join(folders.get(sessionId), 'note.txt');
  const toolCallId = crypto.randomUUID();
  const diff = { type: 'diff', path, oldText: null, newText };
  const call = {
    toolCallId,
    title: 'Write note.txt',
    kind: 'edit',
    rawInput: { path: 'note.txt' },
    content: [diff],
  };
  tell(sessionId, { sessionUpdate: 'tool_call', status: 'pending', ...call });
  const { outcome } = await request('session/request_permission', {
    sessionId,
    toolCall: call,
    options: OPTIONS,
  });
  const isAllowed = outcome.outcome === 'selected' && outcome.optionId === 'yes';
  if (isAllowed) await writeFile(path, newText);
  tell(sessionId, {
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status: isAllowed ? 'completed' : 'failed',
  });
  await say(sessionId, isAllowed ? 'I have written `note.txt`.' : 'I have written nothing.');
}

async function say(sessionId, text) {
  for (const word of text.split(/(?<=\s)/)) {
    tell(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: word } });
    // So that the answer can be watched.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function tell(sessionId, update) {
  send({ method: 'session/update', params: { sessionId, update } });
}

function request(method, params) {
  const id = crypto.randomUUID();
  send({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}
