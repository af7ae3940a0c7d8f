import { FULL } from '../caller.js';
import { promisesOf } from '../promise.js';
import { log, message, say } from '../script.js';
import { equal, has, holds } from '../unmet.js';
import type { Profile } from '../wire/frames.js';

/** An unexpected exception, as a handler may throw it. No caller may see any of it. */
const SECRET = 'ENOENT: no such file, open /srv/secret/conformance.key';

/** What the interface says of standard types: 2.8. */
const STANDARD = [
  { type: 'message', data: { content: 'a', id: 'm1' } },
  { type: 'reasoning', data: { content: 'because', id: 'r1' } },
  { type: 'tool_call', data: { id: 'c1', name: 'add', arguments: { a: [1, null] } } },
  { type: 'tool_result', data: { id: 'c1', content: { sum: 1 }, isError: false } },
  { type: 'source', data: { url: 'https://example.com/', title: 'Example' } },
  { type: 'progress', data: { done: 1, total: 2, unit: 'pages', label: 'Reading' } },
  { type: 'usage', data: { inputTokens: 1, outputTokens: 2, reasoningTokens: 0, model: 'm' } },
];

export const STREAM = promisesOf('stream', {
  'plain-bytes': [
    '2.1',
    'Where Accept does not name text/event-stream, a stream has only lines data: {…} and blank lines, which end with a line feed.',
    async (caller) => {
      for (const accept of [undefined, '*/*', 'application/json', 'text/*', 'text/event-stream;q=0']) {
        const headers = accept === undefined ? {} : { accept };
        const reply = await caller.ask([say('a'), say('b')], { headers });
        equal(
          `the messages with Accept: ${accept}`,
          caller.emitted(await reply.envelopes()),
          ['a', 'b'].map(message),
        );
      }
    },
  ],
  'full-bytes': [
    '2.1',
    'Where Accept names text/event-stream, a stream begins with retry: and its events are id: {runId}.{seq}, data: {…} and a blank line.',
    async (caller) => {
      for (const accept of ['text/event-stream', 'application/json, Text/Event-Stream;q=0.5']) {
        const reply = await caller.ask([say('a')], { headers: { accept } });
        const runId = caller.runPath(reply).split('/').at(-1)!;
        const ids = (await reply.frames()).map(({ id }) => id);
        holds(
          /^retry: \d+\n/.test(reply.bytes.toString()),
          'a first line retry: {ms}',
          reply.bytes.toString(),
        );
        equal(
          'the ids of the events',
          ids,
          ids.map((_, index) => `${runId}.${index + 1}`),
        );
      }
    },
  ],
  numbers: [
    '2.4',
    'The events of a run are numbered 1, 2, 3, … without a gap, and done has the last number.',
    async (caller) => {
      const frames = await caller.fullAnswer([say('a'), { emit: log(caller.token) }, say('b')]);
      const numbers = frames.map(({ id }) => Number(id?.split('.').at(-1)));
      equal(
        'the numbers',
        numbers,
        frames.map((_, index) => index + 1),
      );
      equal('the type of the last event', frames.at(-1)?.envelope.type, 'done');
    },
  ],
  headers: [
    '2.1',
    'The headers of a stream keep caches and proxies from holding it back, and Content-Location is the path of the run.',
    async (caller) => {
      for (const headers of [{}, FULL]) {
        const reply = await caller.ask([say('a')], { headers });
        has('the headers', reply.headers, {
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-cache, no-transform',
          'x-accel-buffering': 'no',
        });
        holds(
          caller.runPath(reply).startsWith(`${caller.path}/`),
          `a path of the run below ${caller.path}`,
          reply.headers['content-location'],
        );
        await reply.whole();
      }
    },
  ],
  'headers-immediate': [
    '2.1',
    'The headers of a stream are sent before the agent has emitted anything.',
    async (caller) => {
      const gate = caller.name('gate');
      const reply = await caller.ask([{ wait: gate }, say('late')]);
      holds(!reply.bytes.includes('late'), 'headers before the first event', reply.bytes.toString());
      await caller.mark(gate);
      equal('the messages', caller.emitted(await reply.envelopes()), [message('late')]);
    },
  ],
  'keep-alive': [
    '2.1',
    'A silent stream has keep-alives from its start on: a pair of blank lines, or in the full profile a comment.',
    async (caller) => {
      const gate = caller.name('gate');
      const silent = async (profile: Profile) => {
        const headers = profile === 'full' ? FULL : {};
        const reply = await caller.ask([{ wait: gate }], { headers });
        await reply.until(() => reply.reading(profile).keepAlives > 1, 'two keep-alives');
        return reply;
      };
      const replies = await Promise.all([silent('plain'), silent('full')]);
      await caller.mark(gate);
      await Promise.all(replies.map((reply) => reply.whole()));
    },
  ],
  'done-completed': [
    '2.2',
    'The stream of an agent that finishes ends with exactly one done, whose status is completed.',
    async (caller) => {
      const envelopes = await (await caller.ask([say('a')])).envelopes();
      const done = { type: 'done', data: { status: 'completed' } };
      equal(
        'each done',
        envelopes.filter(({ type }) => type === 'done'),
        [done],
      );
      equal('the last event', envelopes.at(-1), done);
    },
  ],
  'done-failed': [
    '2.2',
    'The stream of an agent that fails keeps what was emitted before, and ends with done, status failed, a code and a message.',
    async (caller) => {
      const reply = await caller.ask([say('before'), { fail: SECRET }]);
      const envelopes = await reply.envelopes();
      equal('what the agent emitted', caller.emitted(envelopes), [message('before')]);
      const { type, data } = envelopes.at(-1)!;
      const { status, error } = data as { status?: string; error?: { code?: unknown; message?: unknown } };
      equal('the end', [type, status], ['done', 'failed']);
      holds(
        typeof error?.code === 'string' && typeof error.message === 'string',
        'an error with a code and a message',
        data,
      );
    },
  ],
  'no-internals': [
    '2.2',
    'The error of a failed run has nothing of the exception, of a stack trace or of a path.',
    async (caller) => {
      const seen = await (await caller.ask([{ fail: SECRET }])).text();
      holds(seen.includes('"failed"'), 'a failed run', seen);
      holds(!/ENOENT|secret|conformance\.key|\bat .*:\d+|Traceback/.test(seen), 'no internals', seen);
    },
  ],
  'standard-types': [
    '2.8',
    'Envelopes of the standard types arrive as they were emitted, with members that the interface does not name.',
    async (caller) => {
      const emitted = [...STANDARD, { type: 'message', data: { content: 'b', more: [1] } }];
      equal('the envelopes', await caller.answer(emitted.map((emit) => ({ emit }))), emitted);
    },
  ],
  'invalid-envelope': [
    '2.8',
    'A standard type with data of another shape fails the run with invalid_envelope.',
    async (caller) => {
      for (const data of [{ content: 1 }, {}, 'text']) {
        const reply = await caller.ask([{ emit: { type: 'message', data } }]);
        const { data: end } = (await reply.envelopes()).at(-1)!;
        const { status, error } = end as { status?: string; error?: { code?: unknown } };
        equal(
          `the end after a message with ${JSON.stringify(data)}`,
          [status, error?.code],
          ['failed', 'invalid_envelope'],
        );
      }
    },
  ],
});
