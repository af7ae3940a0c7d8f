import {
  type Envelope,
  file,
  type HandlerFunction,
  log,
  message,
  progress,
  type Query,
  QueryError,
  QueryModule,
  type Question,
  reasoning,
  result,
  source,
  suggestions,
  toolCall,
  toolResult,
  usage,
} from '../../src/index.js';
import { ask, cancel, eventsOf, follow, get } from '../support/client.js';
import { tableRows } from '../support/documents.js';
import { FileGrower } from '../support/file-grower.js';
import { type Configure, describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { a2a } from './under-test/a2a.js';
import { agUi } from './under-test/ag-ui.js';
import { aiSdk } from './under-test/ai-sdk.js';
import type { ProtocolUnderTest } from './under-test/index.js';
import { chatCompletions, responses } from './under-test/openai.js';

const PROTOCOLS: ProtocolUnderTest[] = [aiSdk, agUi, responses, chatCompletions, a2a];

/** The cells of a table of the document, by what its first column has and by protocol. */
function tableOf(head: string): Map<string, Map<string, string>> {
  const rows = tableRows('docs/protocols.md').filter(({ heading }) => heading[0] === head);
  return new Map(
    rows.map(({ heading, cells }) => [
      cells[0]!.replaceAll('`', ''),
      new Map(heading.map((name, column) => [name, cells[column]!])),
    ]),
  );
}

const TABLES = { envelopes: tableOf('Envelope'), ends: tableOf('End'), pauses: tableOf('Question') };
const REFUSALS = tableOf('Refusal');
const REQUESTS = tableOf('Query');

/** What a cell names in its order. What is in an event of another envelope has no event of its own. */
const typesIn = (cell: string) =>
  /^in /.test(cell) ? [] : [...cell.matchAll(/`([^`]+)`/g)].map(([, type]) => type!);

/** What the handler emits, by the text of the query: nothing else is in the answer. */
const ENVELOPES: Record<string, Envelope[]> = {
  message: [message('Hello')],
  reasoning: [reasoning('Hm')],
  'tool_call, tool_result': [toolCall('c1', 'add', { a: 1 }), toolResult('c1', { sum: 1 })],
  file: [file({ name: 'a.txt', mimeType: 'text/plain', content: Buffer.from('a') })],
  source: [source('https://example.com/', { title: 'Example' })],
  progress: [progress(1, { total: 2 })],
  result: [result({ answer: 42 })],
  usage: [usage({ inputTokens: 1, outputTokens: 2 })],
  suggestions: [suggestions([{ text: 'More' }])],
  log: [log('Thinking')],
  'any other': [{ type: 'weather', data: { sky: 'blue' } }],
};

const CALL = { toolCallId: 'c1', name: 'add', arguments: { a: 1 } };
const QUESTIONS: Record<string, Question> = {
  approval: { key: 'q1', kind: 'approval', message: 'Add?', ...CALL },
  input: { key: 'q1', kind: 'input', message: 'Which?' },
  tool: { key: 'q1', kind: 'tool', message: 'Add', ...CALL },
  auth: { key: 'q1', kind: 'auth', message: 'Sign in', url: 'https://example.com/' },
};
const ENDS = ['completed', 'failed', 'cancelled'];

const textOf = ({ parts: [part] }: Query) => (part?.type === 'text' ? part.text : '');

/** The most bytes of a query besides its files. */
const DOCUMENT_BYTES = 800_000;

/** The row of a query with a file. */
const FILE = [...REQUESTS].at(-1)!;

let received: Query;

const handler: HandlerFunction = async function* (query, context) {
  received = query;
  const text = textOf(query);
  if (text === 'failed') throw new QueryError('handler_failed', 'The model is gone.');
  if (text === 'cancelled') await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
  if (QUESTIONS[text]) await context.ask([QUESTIONS[text]]);
  if (text === 'everything') for (const each of Object.values(ENVELOPES)) yield* each;
  yield* ENVELOPES[text] ?? [];
};

const jsonIn = (cell: string) => JSON.parse(cell.replaceAll('`', '')) as object;

/** What a request needs for a query. What has no member of its own is in that of the first row. */
function requestOf({ kwargs }: Partial<Query>, name: string, cell: string): object {
  if (cell !== '–') return jsonIn(cell);
  const [member] = Object.keys(jsonIn([...REQUESTS.values()][0]!.get(name)!));
  return { [member!]: kwargs };
}

/** A query whose text is the name of a code is refused with it. */
const admit = (query: Query) => {
  const text = textOf(query);
  if (REFUSALS.has(text)) throw new QueryError(text, 'Not now.', { retryAfter: 7 });
};

const eachCell = (rows: Map<string, Map<string, string>>) =>
  [...rows].flatMap(([row, cells]) =>
    PROTOCOLS.map((protocol) => [row, protocol.name, cells.get(protocol.name)!, protocol] as const),
  );

describe('The tables of other protocols', () => {
  it('have every envelope, end and question', () => {
    const names = (table: Map<string, unknown>) =>
      [...table.keys()].filter((name) => name !== 'the beginning');
    expect(names(TABLES.envelopes).sort()).toEqual(Object.keys(ENVELOPES).sort());
    expect(names(TABLES.ends).sort()).toEqual([...ENDS].sort());
    expect(names(TABLES.pauses).sort()).toEqual(Object.keys(QUESTIONS).sort());
    for (const table of [...Object.values(TABLES), REFUSALS, REQUESTS])
      for (const cells of table.values())
        expect([...cells.keys()].slice(1)).toEqual(PROTOCOLS.map(({ name }) => name));
  });
});

describe('The table of last events', () => {
  const named = tableOf('View');
  const cells = [...TABLES.ends.values(), ...TABLES.pauses.values()];

  it.each(PROTOCOLS.map(({ name }) => name))('has all with which a response ends in %s', (name) => {
    const last = cells.map((row) => typesIn(row.get(name)!).at(-1)!);
    const types = typesIn(named.get(name)!.get('Last event')!).filter((type) => !type.startsWith('TASK_'));
    expect(types.sort()).toEqual([...new Set(last)].sort());
  });
});

describeOnOneAdapter('In other protocols, on %s', (adapter) => {
  let host: Host;
  const start = (configure?: Configure) => {
    const runs = { drainMs: 0, stopDeadlineMs: 100 };
    const limits = { documentBytes: DOCUMENT_BYTES };
    const query = QueryModule.forRoot({ handler, admit, runs, limits });
    const modules = PROTOCOLS.map(({ module }) => module());
    const views = [...new Map(modules.map((each) => [each.module, each])).values()];
    class Views {}
    return startHost(adapter, { module: Views, imports: [query, ...views] }, configure);
  };
  beforeAll(async () => {
    host = await start();
  });
  afterAll(() => host.close());

  /** The types of a stream, without those of its beginning. */
  const typesAfterBeginning = ({ name, typesOf }: ProtocolUnderTest, stream: string) => {
    const beginning = typesIn(TABLES.envelopes.get('the beginning')!.get(name)!);
    const types = typesOf(stream);
    expect(types.slice(0, beginning.length)).toEqual(beginning);
    return types.slice(beginning.length);
  };
  const cancelNewest = async () => {
    const [run] = (await host.agent.runs('anonymous', { limit: 1 })).runs;
    await cancel(host.url, run!.id);
  };
  const endOf = ({ name }: ProtocolUnderTest) => typesIn(TABLES.ends.get('completed')!.get(name)!);

  const shown = eachCell(TABLES.envelopes).filter(([row]) => row !== 'the beginning');
  it.each(shown)('%s is shown by %s as: %s', async (row, _, cell, protocol) => {
    const stream = await (await protocol.submit(host.url, row)).whole();
    expect(typesAfterBeginning(protocol, stream)).toEqual([...typesIn(cell), ...endOf(protocol)]);
  });

  it.each(eachCell(TABLES.ends))('a run that is %s ends in %s with: %s', async (row, _, cell, protocol) => {
    const reply = await protocol.submit(host.url, row);
    if (row === 'cancelled') await cancelNewest();
    expect(typesAfterBeginning(protocol, await reply.whole())).toEqual(typesIn(cell));
  });

  it.each(eachCell(TABLES.pauses))(
    'a question (%s) is shown by %s as: %s',
    async (row, _, cell, protocol) => {
      const reply = await protocol.submit(host.url, row);
      expect(typesAfterBeginning(protocol, await reply.whole())).toEqual(typesIn(cell));
      await cancelNewest();
    },
  );

  it.each(eachCell(REQUESTS))('the query %s is in a request of %s: %s', async (row, name, cell, protocol) => {
    const query = JSON.parse(row) as Partial<Query>;
    const request = requestOf(query, name, cell);
    await (
      await protocol.submit(host.url, 'Hi', query.parts ? { parts: [request] } : { members: request })
    ).whole();
    expect(received.parts[0]).toEqual({ type: 'text', text: 'Hi' });
    expect(received.parts.slice(1)).toMatchObject(query.parts ?? []);
    expect(received.kwargs).toMatchObject(query.kwargs ?? {});
  });

  it.each(eachCell(REFUSALS))('%s is refused by %s with: %s', async (row, _, cell, protocol) => {
    const reply = await protocol.submit(host.url, row);
    const [status, ...words] = typesIn(cell);
    expect(String(reply.status)).toBe(status);
    expect(reply.headers['retry-after']).toBe('7');
    const body = await reply.whole();
    for (const word of words) expect(body).toContain(`"${word}"`);
  });

  it.each(PROTOCOLS.map((protocol) => [protocol.name, protocol] as const))(
    'a run that is submitted through %s has one log for all protocols',
    async (_, protocol) => {
      const reply = await protocol.submit(host.url, 'everything');
      // Those of OpenAI have no other place for a result than the text.
      expect(protocol.textOf(await reply.whole())).toMatch(/^Hello(\{"answer":42\})?$/);
      const runId = protocol.runIdOf(reply);
      const types = (await (await follow(host.url, runId)).allEnvelopes()).map(({ type }) => type);
      expect(types.at(-1)).toBe('done');
      expect(types).toEqual(expect.arrayContaining(['message', 'tool_call', 'weather']));
    },
  );

  const resumable = PROTOCOLS.filter(({ resume }) => resume).map((each) => [each.name, each] as const);
  it.each(resumable)('a stream of %s is resumed exactly after each of its events', async (_, protocol) => {
    const reply = await protocol.submit(host.url, 'everything');
    const whole = eventsOf(await reply.whole());
    const again = eventsOf(await (await protocol.follow!(host.url, reply)).whole());
    expect(again).toEqual(whole);
    for (let count = 0; count < whole.length; count++) {
      const rest = await (await protocol.resume!(host.url, reply, count)).whole();
      expect(eventsOf(rest).map(({ data }) => data)).toEqual(whole.slice(count).map(({ data }) => data));
    }
  });

  it.each(eachCell(new Map([FILE])))(
    'a file is longer than what is not a file may be: %s, in a request of %s: %s',
    async (_row, _name, cell, protocol) => {
      const grower = await FileGrower.before(host.url, 'YQ==', 2 * DOCUMENT_BYTES);
      const reply = await protocol.submit(grower.url, 'Hi', { parts: [jsonIn(cell)] });
      await reply.whole();
      expect(reply.status).toBe(200);
      expect(received.parts[1]).toMatchObject({ file: { size: (2 * DOCUMENT_BYTES * 3) / 4 } });
      await grower.stop();
    },
  );

  // Each of them reads bodies in the same way.
  it.each(eachCell(new Map([FILE])).slice(0, 1))(
    'a file of 50 MB is not in memory: %s, in a request of %s: %s',
    async (_row, _name, cell, protocol) => {
      const grower = await FileGrower.before(host.url, 'YQ==', 66_800_000);
      const reply = await protocol.submit(grower.url, 'Hi', { parts: [jsonIn(cell)] });
      await reply.whole();
      expect(reply.status).toBe(200);
      expect(received.parts[1]).toMatchObject({ file: { size: 50_100_000 } });
      expect(grower.used / 2 ** 20).toBeLessThan(40);
      await grower.stop();
    },
  );

  it('the files of an answer are under the prefix of the host', async () => {
    const prefixed = await start((app) => app.setGlobalPrefix('api'));
    for (const { name, submit } of PROTOCOLS) {
      const stream = await (await submit(`${prefixed.url}/api`, 'file')).whole();
      const [path = 'none'] =
        /[\w/]+\/query\/[\w-]+\/files\/\w+/.exec(stream.replace(prefixed.url, '')) ?? [];
      expect([name, path]).toEqual([name, expect.stringMatching(/^\/api\/query\//)]);
      expect((await get(prefixed.url, path)).status).toBe(200);
    }
    await prefixed.close();
  });

  it('the same query has the same text in each of them', async () => {
    const { text } = await (await ask(host.url, 'message')).answer();
    for (const protocol of PROTOCOLS)
      expect([
        protocol.name,
        protocol.textOf(await (await protocol.submit(host.url, 'message')).whole()),
      ]).toEqual([protocol.name, text]);
  });
});
