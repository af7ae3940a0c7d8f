import { Module } from '@nestjs/common';
import {
  type AgentHandler,
  type Envelope,
  file,
  type HandlerFunction,
  log,
  message,
  progress,
  type Question,
  QueryError,
  QueryModule,
  type QueryModuleOptions,
  reasoning,
  result,
  source,
  suggestions,
  toolCall,
  toolResult,
  usage,
} from '../../src/index.js';
import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import { type Reply, request } from '../support/client.js';
import { type AdapterName, type Host, startHost } from '../support/host.js';

const APPROVAL: Question = {
  ...{ key: 'refund-881', kind: 'approval', message: 'Refund 120 EUR to customer 881?', editable: true },
  ...{ toolCallId: 'call_9', name: 'refund', arguments: { customer: 881, amount: 120 } },
};
const INPUT: Question = {
  ...{ key: 'quarter', kind: 'input', message: 'Which quarter?' },
  schema: { type: 'string', enum: ['Q1', 'Q2'] },
};
const AUTH: Question = { key: 'auth', kind: 'auth', message: 'Sign in', url: 'https://example.com/login' };
const tool = (id: string): Question => ({
  ...{ key: `tool-${id}`, kind: 'tool', message: 'Where are you?', toolCallId: id },
  ...{ name: 'location', arguments: { accuracy: 1 } },
});

const EVERY_TYPE: Envelope[] = [
  log('Beginning.'),
  message('Hel'),
  message('lo "Ä\u2028"\n'),
  progress(1, { total: 2 }),
  message('other', { id: 'b' }),
  message('again'),
  reasoning('Hm'),
  reasoning('m'),
  toolCall('call_1', 'search', { q: 'ü' }),
  toolCall('call_2', 'search', null),
  toolResult('call_1', { hits: [1] }),
  toolResult('call_2', 'none', { isError: true }),
  source('https://example.com', { title: 'Example' }),
  file({ name: 'a.txt', mimeType: 'text/plain', content: Buffer.from('a') }),
  usage({ inputTokens: 3, outputTokens: 2, model: 'm', reasoningTokens: 1 }),
  usage({ inputTokens: 1, outputTokens: 1, model: 'm' }),
  usage({ inputTokens: 0.5, outputTokens: 1 }),
  suggestions([{ text: 'More' }]),
  { type: 'custom', data: null },
  result({ answer: 42 }),
  message('End'),
];

function textsOf(parts: readonly ({ text: string } | { name: string })[]): string {
  return parts.map((part) => ('text' in part ? part.text : part.name)).join(' ');
}

type Script = (...parameters: Parameters<HandlerFunction>) => AsyncIterable<Envelope>;

/** What the agent of these tests does with a text. */
export const SCRIPTS: Record<string, Script> = {
  async *every() {
    yield* EVERY_TYPE;
  },
  async *nothing() {},
  async *short() {
    yield message('Hello');
  },
  async *failed() {
    yield message('Hello');
    yield reasoning('Hm');
    throw new QueryError('quota_exceeded', 'The quota is used up.', { status: 402 });
  },
  async *endless(_, { signal }) {
    yield message('Hello');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  },
  async *asks(_, context) {
    yield message('One moment');
    yield usage({ inputTokens: 1, outputTokens: 1 });
    const answers = await context.ask([APPROVAL, INPUT, AUTH]);
    yield toolResult('call_9', answers);
    yield message('Thanks');
  },
  async *'asks twice'(_, context) {
    for (const key of ['quarter', 'again'])
      yield message(JSON.stringify((await context.ask([{ ...INPUT, key }]))[0]!.value ?? 'nothing'));
  },
  async *'asks tools'(_, context) {
    yield message('Let me see');
    yield toolCall('call_a', 'location', { accuracy: 1 });
    const answers = await context.ask([tool('call_a'), tool('call_b')]);
    for (const { id, value } of answers)
      yield toolResult(id.slice(5), (value as { content: unknown }).content);
    yield message('Thanks');
  },
  async *'tells the query'({ parts, kwargs }, { history }) {
    const told = parts.map((part) =>
      part.type === 'text' ? part.text : `${part.name} ${part.file.size} ${part.sha256}`,
    );
    const turns = history.map((turn) => [textsOf(turn.parts), turn.text]);
    yield message(JSON.stringify({ told, kwargs, history: turns }));
  },
};

/** Executes the script that the last text of a query names. */
export const scripted: HandlerFunction = (query, context) => {
  const text = query.parts.findLast((part) => part.type === 'text')?.text ?? '';
  return (SCRIPTS[text] ?? SCRIPTS['tells the query']!)(query, context);
};

/** Starts a host that shows its agent to clients of AG-UI. */
export function startAgUi(
  adapter: AdapterName,
  handler: HandlerFunction | AgentHandler = scripted,
  options: Partial<QueryModuleOptions> = {},
): Promise<Host> {
  const runs = { drainMs: 0, stopDeadlineMs: 100, ...options.runs };
  @Module({ imports: [QueryModule.forRoot({ ...options, runs, handler } as never), AgUiModule.forRoot()] })
  class AgUiHost {}
  return startHost(adapter, AgUiHost);
}

/** An input that has one message. */
export function inputOf(text: string, more: object = {}): Record<string, unknown> {
  return {
    ...{
      threadId: `thread of ${text}`,
      runId: 'run-1',
      protocolVersion: '1.0',
      messages: [{ id: 'user-1', role: 'user', content: text }],
    },
    ...{ protocolVersion: '1.0', tools: [], context: [], state: {}, forwardedProps: {}, ...more },
  };
}

/** An input that answers what the run of a script asks. */
export function resumeOf(
  text: string,
  answers: Record<string, unknown>,
  more: object = {},
): Record<string, unknown> {
  const resume = Object.entries(answers).map(([interruptId, payload]) => {
    return payload === null
      ? { interruptId, status: 'cancelled' }
      : { interruptId, status: 'resolved', payload };
  });
  return inputOf(text, { runId: 'run-2', messages: [], resume, ...more });
}

/** What all requests of the script `asks` are answered. */
export const ANSWERS = {
  'refund-881': { approved: true, editedArgs: { customer: 881, amount: 100 } },
  quarter: 'Q1',
  auth: {},
};

/** Sends an input. */
export function post({ url }: Host, input: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  return request(url, { path: '/ag-ui', headers }, JSON.stringify(input));
}

/** The id of our run that a response shows. */
export function runIdOf({ headers }: Reply): string {
  return headers['x-run-id'] as string;
}

/** The events of a stream, with `<run>` and `<time>` in the place of the id of its run and of times. */
export async function dataOf(reply: Reply): Promise<string[]> {
  const events = await reply.allEvents();
  return events.map(({ data }) =>
    data.replaceAll(runIdOf(reply), '<run>').replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>'),
  );
}

/** The types of the events of a stream. */
export async function typesOf(reply: Reply): Promise<string[]> {
  return (await reply.allEvents()).map(({ data }) => (JSON.parse(data) as { type: string }).type);
}

/** The text of the answer that a client shows. */
export async function textOf(reply: Reply): Promise<string> {
  const events = (await reply.allEvents()).map(
    ({ data }) => JSON.parse(data) as { type: string; delta: string },
  );
  return events.flatMap(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? [delta] : [])).join('');
}
