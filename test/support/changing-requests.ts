import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import { A2aModule } from 'nest-agent-query-protocols/a2a';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { McpModule } from 'nest-agent-query-mcp';
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { assistant, runOf, sendChat, user } from './ai-sdk-chat.js';
import { eventually } from './conditions.js';
import { ask, get, request, type Reply } from './client.js';

/** The limit of one file. */
export const FILE_BYTES = 1_000;

/** The modules of all views. */
export const VIEWS = [AiSdkModule, AgUiModule, OpenAiModule, A2aModule, McpModule].map((view) =>
  view.forRoot(),
);

/** A file that owners of these requests have sent before. */
export const SENT_FILE = 'sent before';
export const SENT_SHA256 = createHash('sha256').update(SENT_FILE).digest('hex');

/** Sends a request: again, if it was refused. */
export type Send = (text: string) => Promise<Reply>;

/** The limit of one text. Where the text must be that of an earlier message, a longer one stands for a file that is none. */
export const TEXT_BYTES = 1_000;

const json = (base: string, path: string, body: object, headers = {}) =>
  request(base, { path, headers }, JSON.stringify(body));
const inSession = (id: string, headers = {}) => ({ kwargs: { session_id: id }, headers });

/** Answers two queries of a session, and returns the ids of their runs. */
async function twoTurns(base: string, session: string): Promise<string[]> {
  const runs: string[] = [];
  for (const text of ['One', 'Two']) {
    const reply = await ask(base, text, inSession(session));
    await reply.whole();
    runs.push(reply.runId);
  }
  return runs;
}

/** A run of a session that has begun its answer, and executes or asks. */
async function openRun(base: string, session: string, text: string, status: string): Promise<string> {
  const accepted = await ask(base, text, inSession(session, { prefer: 'respond-async' }));
  const { id } = await accepted.json<{ id: string }>();
  await eventually(async () => {
    const run = await (await get(base, `/query/${id}`)).json();
    return run['status'] === status && run['events'] !== 0;
  });
  return id;
}

const agUi = (base: string, threadId: string, runId: string, content: unknown) =>
  json(base, '/ag-ui', { threadId, runId, messages: [{ id: '1', role: 'user', content }] });

/** The message that was sent before; see `TEXT_BYTES`. */
const sameMessage = (content: string, text: string) => {
  const broken = { type: 'image', source: { type: 'data', value: '?', mimeType: 'image/png' } };
  return text.length > TEXT_BYTES ? [{ type: 'text', text: content }, broken] : content;
};

/**
 * Requests that submit a query, by what they are. Each prepares what it needs under a name that is its own, and returns what
 * sends it.
 */
export const CHANGING: Record<string, (base: string, name: string) => Promise<Send>> = {
  'a query of a new session': async (base, name) => (text) => ask(base, text, inSession(name)),
  'a query that does not wait': async (base) => (text) =>
    ask(base, text, { headers: { prefer: 'respond-async' } }),
  'a query with files, of which one was sent before': async (base) => (text) => {
    const file = { type: 'file', name: 'a.txt', mimeType: 'text/plain' };
    const base64 = Buffer.from('sent along').toString('base64');
    const parts = [
      { type: 'text', text },
      { ...file, base64 },
      { ...file, sha256: SENT_SHA256 },
    ];
    return json(base, '/query', { parts });
  },
  'a query that replaces turns': async (base, name) => {
    await twoTurns(base, name);
    return (text) => ask(base, text, inSession(name, { 'session-after': '1' }));
  },
  'a query in place of an answer to a run that asks': async (base, name) => {
    await openRun(base, name, 'asks', 'input_required');
    return (text) => ask(base, text, inSession(name));
  },
  'a new message of the AI SDK': async (base, name) => (text) =>
    sendChat(base, [user(text, 'u1')], { id: name }),
  'an edited message of the AI SDK': async (base, name) => {
    const first = await sendChat(base, [user('One', 'u1')], { id: name });
    await first.whole();
    const messages = [user('One', 'u1'), assistant(runOf(first))];
    await (await sendChat(base, [...messages, user('Two', 'u2')], { id: name })).whole();
    return (text) => sendChat(base, [...messages, user(text, 'u2')], { id: name, messageId: 'u2' });
  },
  'a new thread of AG-UI': async (base, name) => (text) => agUi(base, name, name, text),
  'a message of AG-UI that repeats an executing run': async (base, name) => {
    await (await agUi(base, name, `${name} first`, 'endless')).until('Working');
    return (text) => agUi(base, name, `${name} again`, sameMessage('endless', text));
  },
  'a message of AG-UI that repeats a run': async (base, name) => {
    await (await agUi(base, name, `${name} first`, 'One')).whole();
    return (text) => agUi(base, name, `${name} again`, sameMessage('One', text));
  },
  'a response after an earlier one of a conversation': async (base, name) => {
    const [first] = await twoTurns(base, name);
    return (input) => json(base, '/v1/responses', { input, previous_response_id: `resp_${first}` });
  },
  'a response after an earlier one, with an idempotency key': async (base, name) => {
    const [, last] = await twoTurns(base, name);
    const headers = { 'idempotency-key': name };
    return (input) => json(base, '/v1/responses', { input, previous_response_id: `resp_${last}` }, headers);
  },
  'a response of a conversation': async (base, name) => (input) =>
    json(base, '/v1/responses', { input, conversation: name }),
  'a response in the background': async (base) => (input) =>
    json(base, '/v1/responses', { input, background: true }),
  'a chat completion': async (base) => (content) =>
    json(base, '/v1/chat/completions', { messages: [{ role: 'user', content }] }),
  'a message of A2A': async (base, name) => (text) => {
    const message = { messageId: name, contextId: name, role: 'ROLE_USER', parts: [{ text }] };
    return json(base, '/a2a/message:send', { message }, { 'a2a-version': '1.0' });
  },
  'a call of MCP': async (base) => (text) => {
    const params = { name: 'query', arguments: { text } };
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    };
    return json(base, '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers);
  },
};

const answered = (id: string, value: unknown) => [{ id, outcome: 'answered', value }];

/** Requests that are refused as they are. Each prepares what it needs, and returns what sends it, and a part of the refusal. */
export const REFUSED: Record<string, (base: string, name: string) => Promise<[Send, refusal: string]>> = {
  'an answer beside one to nothing': async (base, name) => {
    const run = await openRun(base, name, 'asks', 'input_required');
    const answers = [...answered('q', 'Q1'), ...answered('other', 'Q9')];
    return [() => json(base, `/query/${run}/inputs`, { answers }), 'not_found'];
  },
  'an answer with a value that is not valid': async (base, name) => {
    const run = await openRun(base, name, 'asks', 'input_required');
    return [() => json(base, `/query/${run}/inputs`, { answers: answered('q', 'Q9') }), 'invalid_answer'];
  },
  'an answer of a client of the AI SDK that is not valid': async (base, name) => {
    const run = await openRun(base, name, 'asks', 'input_required');
    const part = {
      type: 'tool-request_user_input',
      toolCallId: 'q',
      state: 'output-available',
      output: 'Q9',
    };
    return [() => sendChat(base, [user('asks'), assistant(run, part)], { id: name }), 'invalid'];
  },
  'an answer of a client of AG-UI that is not valid': async (base, name) => {
    await openRun(base, name, 'asks', 'input_required');
    const resume = [{ interruptId: 'q', status: 'resolved', payload: 'Q9' }];
    return [() => json(base, '/ag-ui', { threadId: name, runId: name, messages: [], resume }), 'RUN_ERROR'];
  },
  'an answer of a client of OpenAI that is not valid': async (base) => {
    const asked = await (await json(base, '/v1/responses', { input: 'asks' })).whole();
    const [, call_id] = /"call_id":"([^"]+)"/.exec(asked)!;
    const input = [{ type: 'function_call_output', call_id, output: 'Q9' }];
    return [() => json(base, '/v1/responses', { input }), 'invalid_request_error'];
  },
  'an answer of a client of A2A that is not valid': async (base, name) => {
    const taskId = await openRun(base, name, 'asks', 'input_required');
    const parts = [{ data: { answers: answered('q', 'Q9') } }];
    const message = { messageId: name, taskId, role: 'ROLE_USER', parts };
    return [() => json(base, '/a2a/message:send', { message }, { 'a2a-version': '1.0' }), 'INVALID'];
  },
  'a fork that has the id of a session': async (base, name) => {
    await twoTurns(base, name);
    const body = { afterTurn: 1, session_id: name };
    return [() => json(base, `/query/sessions/${encodeURIComponent(name)}/fork`, body), 'session_exists'];
  },
  'a fork of turns that do not exist': async (base, name) => {
    await twoTurns(base, name);
    return [
      () => json(base, `/query/sessions/${encodeURIComponent(name)}/fork`, { afterTurn: 3 }),
      'invalid_query',
    ];
  },
  'the end of a response that others follow': async (base, name) => {
    const [first] = await twoTurns(base, name);
    return [() => request(base, { method: 'DELETE', path: `/v1/responses/resp_${first}` }), 'session_busy'];
  },
  'a conversation that begins with items': async (base) => {
    const body = { items: [{ type: 'message', role: 'user', content: 'Hello' }] };
    return [() => json(base, '/v1/conversations', body), 'invalid_query'];
  },
  'the stop of a chat that names no run': async (base, name) => {
    await openRun(base, name, 'endless', 'running');
    const path = `/ai/chat/${encodeURIComponent(name)}/stop`;
    return [() => json(base, path, { activeStreamId: 1 }), 'invalid_query'];
  },
  'a file that is too large': async (base) => {
    const headers = { 'content-type': 'text/plain', 'content-disposition': 'attachment; filename="b.txt"' };
    return [
      () => request(base, { path: '/query/files', headers }, 'x'.repeat(FILE_BYTES + 1)),
      'limit_exceeded',
    ];
  },
};
