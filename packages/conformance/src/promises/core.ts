import { createHash } from 'node:crypto';
import type { Caller } from '../caller.js';
import { promisesOf } from '../promise.js';
import { file, log, message, type Part, say, text } from '../script.js';
import { equal, holds } from '../unmet.js';

/** What the agent has received, as it reports it. */
interface ReceivedQuery {
  parts: Record<string, unknown>[];
  kwargs: Record<string, unknown>;
}

/** Characters that streams, JSON and lines treat in a special way. */
const STRANGE = 'line\nline\r\n"quoted" \\ back\tslash \u0001 é 你好 🌍 \u2028 \u2029 data: {} \n\nid: 1';

export const CORE = promisesOf('core', {
  answer: [
    '1',
    'A query gets 200 and a stream with Content-Type text/event-stream.',
    async (caller) => {
      const reply = await caller.ask([say('hello')]);
      holds(
        /^text\/event-stream\b/.test(reply.headers['content-type'] ?? ''),
        'Content-Type: text/event-stream',
        reply.headers['content-type'],
      );
      await reply.whole();
    },
  ],
  event: [
    '1',
    'Each event is a line data: with one JSON envelope {type, data}, and a blank line follows it.',
    async (caller) => {
      const envelopes = await caller.answer([say('one'), say('two')]);
      equal('the number of events', envelopes.length, 2);
    },
  ],
  messages: [
    '1',
    'A message has the content that the agent has emitted, whatever characters it has.',
    (caller) => arrives(caller, [message(STRANGE), message(''), message(' ')]),
  ],
  logs: [
    '1',
    'A log has the message that the agent has emitted, whatever characters it has.',
    (caller) => arrives(caller, [log(`${caller.token} ${STRANGE}`)]),
  ],
  order: [
    '1',
    'Messages and logs arrive in the order in which the agent produces them.',
    (caller) =>
      arrives(
        caller,
        Array.from({ length: 40 }, (_, n) => (n % 3 === 0 ? log(`${caller.token} ${n}`) : message(`${n}`))),
      ),
  ],
  'one-by-one': [
    '1',
    'Events arrive one by one: each before the agent produces the next.',
    async (caller) => {
      const [first, second] = [caller.name('first'), caller.name('second')];
      const reply = await caller.ask([say('1 '), { wait: first }, say('2 '), { wait: second }, say('3 ')]);
      await reply.untilText('"1 "');
      await caller.mark(first);
      await reply.untilText('"2 "');
      holds(!reply.bytes.includes('"3 "'), 'two messages while the agent waits', reply.bytes.toString());
      await caller.mark(second);
      equal('the messages', caller.emitted(await reply.envelopes()), ['1 ', '2 ', '3 '].map(message));
    },
  ],
  'other-types': [
    '1',
    'An envelope of a type that the interface does not name arrives as it was emitted.',
    (caller) => arrives(caller, [{ type: 'weather.report', data: { sky: ['blue', null], wind: 1.5 } }]),
  ],
  'large-event': [
    '1',
    'An event of 256 KiB arrives whole.',
    (caller) => arrives(caller, [message('x'.repeat(256 * 1024))]),
  ],
  separate: [
    '1',
    'A stream has only the events of its own query.',
    async (caller) => {
      const together = caller.name('together');
      const ask = (name: string) => caller.answer([say(`${name}1`), { wait: together }, say(`${name}2`)]);
      const [, ...answers] = await Promise.all([caller.mark(together), ...[...'abcde'].map(ask)]);
      const expected = [...'abcde'].map((name) => [message(`${name}1`), message(`${name}2`)]);
      equal('the answers to five queries', answers, expected);
    },
  ],
  texts: [
    '1',
    'Text parts reach the agent as they were sent, in their order.',
    (caller) => reaches(caller, [text(STRANGE), text(''), text('second'), text('x'.repeat(100_000))]),
  ],
  files: [
    '1',
    'File parts of any type reach the agent with their names, their types and every byte.',
    (caller) =>
      reaches(caller, [
        file(
          'bytes.bin',
          'application/octet-stream',
          Uint8Array.from({ length: 256 }, (_, n) => n),
        ),
        file('empty.txt', 'text/plain', ''),
        file('naïve 你好.x-unknown', 'application/x-unknown; version="1 2"', 'any type'),
        file('large.dat', 'application/x-data', Buffer.alloc(1024 * 1024, 'abc')),
      ]),
  ],
  mixed: [
    '1',
    'A query may have any number of texts and files, mixed in any order.',
    (caller) =>
      reaches(
        caller,
        Array.from({ length: 60 }, (_, n) =>
          n % 7 < 3 ? text(`text ${n}`) : file(`${n}.txt`, 'text/plain', `content ${n}`),
        ),
      ),
  ],
  kwargs: [
    '1',
    'Every key of kwargs reaches the agent unchanged, with any JSON value.',
    async (caller) => {
      const values = [0, -1.5, 1e21, true, false, null, '', STRANGE, [], {}, [[{ deep: [1, { er: null }] }]]];
      const kwargs = Object.fromEntries([...values.entries()].map(([n, value]) => [`key ${n} é.$[]`, value]));
      const sent = { ...kwargs, parts: 'of kwargs', constructor: 1, '': 2 };
      const { kwargs: received } = await caller.report<ReceivedQuery>({ report: 'query' }, { kwargs: sent });
      equal('kwargs', received, sent);
    },
  ],
  'no-kwargs': [
    '1',
    'kwargs may be absent: the agent receives none.',
    async (caller) => {
      const { kwargs } = await caller.report<ReceivedQuery>({ report: 'query' });
      equal('kwargs', kwargs, {});
    },
  ],
  'session-id': [
    '1',
    'kwargs.session_id, a string, is accepted and reaches the agent with the other keys.',
    async (caller) => {
      const kwargs = { session_id: caller.name('session'), other: 1 };
      const { kwargs: received } = await caller.report<ReceivedQuery>({ report: 'query' }, { kwargs });
      equal('kwargs', received, kwargs);
    },
  ],
  'body-format': [
    '1',
    'The order of members and white space in a body do not matter.',
    async (caller) => {
      const script = JSON.stringify([{ report: 'query' }]);
      const body = ` { "kwargs" : { "a" : 1 } ,\n "parts" : [ { "text" : ${JSON.stringify(script)} , "type" : "text" } ] } `;
      const reply = await caller.send({ body });
      equal('the status', reply.status, 200);
      const [reported] = caller.emitted(await reply.envelopes());
      const { content } = (reported?.data ?? {}) as { content?: string };
      equal('what the agent received', JSON.parse(content ?? 'null'), {
        parts: [{ type: 'text', text: script }],
        kwargs: { a: 1 },
      });
    },
  ],
});

/** Checks that envelopes which the agent emits arrive as they are. */
async function arrives(caller: Caller, envelopes: ReturnType<typeof message>[]): Promise<void> {
  equal('the envelopes', await caller.answer(envelopes.map((emit) => ({ emit }))), envelopes);
}

/** Checks that parts reach the agent as they are. */
async function reaches(caller: Caller, parts: Part[]): Promise<void> {
  const received = await caller.report<ReceivedQuery>({ report: 'query' }, { parts });
  // The last text is the script.
  equal('the parts that the agent received', received.parts.slice(0, -1), parts.map(described));
}

/** A part as the agent reports it: a file without its content. */
function described(part: Part): object {
  if (part.type === 'text') return part;
  const { type, name, mimeType } = part;
  const content = Buffer.from(part.base64, 'base64');
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { type, name, mimeType, size: content.length, sha256 };
}
