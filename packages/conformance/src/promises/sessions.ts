import { createHash } from 'node:crypto';
import { type Caller, JSON_TYPE } from '../caller.js';
import { promisesOf } from '../promise.js';
import { type Envelope, file, log, message, say, type Step, text } from '../script.js';
import { equal, has, holds, Unmet } from '../unmet.js';
import { refused } from './refusals.js';

interface Turn {
  runId: string;
  parts: Record<string, unknown>[];
  text: string;
  envelopes: Envelope[];
  end: { status: string };
  [member: string]: unknown;
}

interface SessionPage {
  id: string;
  active: string | null;
  waiting: number;
  turns: Turn[];
  next: number | null;
}

export const SESSIONS = promisesOf('sessions', {
  history: [
    '2.5',
    'The agent receives the earlier turns of the session, oldest first, and those of no other session.',
    async (caller) => {
      const kwargs = { session_id: caller.name('session') };
      for (const name of ['one', 'two']) await caller.answer([say(name), say('.')], { kwargs });
      equal(
        'the answers of the earlier turns',
        await caller.report<string[]>({ report: 'history' }, { kwargs }),
        ['one.', 'two.'],
      );
      const other = { session_id: caller.name('session') };
      equal('those of another session', await caller.report({ report: 'history' }, { kwargs: other }), []);
    },
  ],
  turns: [
    '2.5',
    'GET of a session shows its turns: the parts, files as name, type, size and digest, the text of the answer, and the end.',
    async (caller) => {
      const parts = [text('question'), file('a.txt', 'text/plain', 'Hi')];
      const { reply, page } = await session(caller, [say('Hello, '), say('you')], parts);
      equal('the number of turns', page.turns.length, 1);
      const [turn] = page.turns;
      const sha256 = createHash('sha256').update('Hi').digest('hex');
      const description = { type: 'file', name: 'a.txt', mimeType: 'text/plain', size: 2, sha256 };
      equal('the parts before the script', turn!.parts.slice(0, 2), [parts[0], description]);
      has('the turn', turn!, {
        text: 'Hello, you',
        end: { status: 'completed' },
        runId: caller.runPath(reply).split('/').at(-1),
      });
      has('the session', page, { active: null, waiting: 0, next: null });
    },
  ],
  failed: [
    '2.5',
    'A turn says how its run has ended, and keeps what was emitted before.',
    async (caller) => {
      const { page } = await session(caller, [say('half'), { fail: 'an exception' }]);
      equal('the end and the text', [page.turns[0]!.end.status, page.turns[0]!.text], ['failed', 'half']);
    },
  ],
  envelopes: [
    '2.5',
    'A turn keeps the envelopes of the standard types except log and progress; neighbouring chunks of one message are one.',
    async (caller) => {
      const call = { type: 'tool_call', data: { id: 'c', name: 'n', arguments: {} } };
      const emitted = [
        message('a'),
        log(caller.token),
        message('b'),
        { type: 'progress', data: { done: 1 } },
        call,
        { type: 'own', data: 1 },
        message('c'),
      ];
      const { page } = await session(
        caller,
        emitted.map((emit) => ({ emit })),
      );
      equal('the envelopes of the turn', page.turns[0]!.envelopes, [message('ab'), call, message('c')]);
    },
  ],
  pages: [
    '2.5',
    'The turns come in pages, oldest first: limit says how many, and next is the after of the next page.',
    async (caller) => {
      const id = caller.name('session');
      for (const name of ['1', '2', '3']) await caller.answer([say(name)], { kwargs: { session_id: id } });
      const path = caller.sessionPath(id);
      const first = await caller.json<SessionPage>(`${path}?limit=2`);
      const second = await caller.json<SessionPage>(`${path}?limit=2&after=${first.next}`);
      const texts = [first, second].map(({ turns }) => turns.map((turn) => turn.text));
      equal('the texts of the pages', texts, [['1', '2'], ['3']]);
      equal('next of the last page', second.next, null);
    },
  ],
  'one-at-a-time': [
    '2.5',
    'One run of a session executes at a time: a second query waits, is 409 session_busy, or cancels the first.',
    async (caller) => {
      const [id, begun] = [caller.name('session'), caller.name('begun')];
      const kwargs = { session_id: id };
      const { reply, runPath, end } = await caller.begin({ kwargs });
      const second = await caller.submit([{ mark: begun }, say('second')], { kwargs });
      if (second.status === 409) {
        await refused(second, 409, 'session_busy');
      } else {
        equal('the status of the second query', second.status, 200);
        const page = await caller.json<SessionPage>(caller.sessionPath(id));
        if (page.active === runPath.split('/').at(-1)) {
          equal('how many runs wait', page.waiting, 1);
          equal('how often the second agent was asked meanwhile', await caller.count(begun), 0);
        } else {
          const last = (await reply.envelopes()).at(-1);
          equal('the end of the first run', last, { type: 'done', data: { status: 'cancelled' } });
        }
      }
      await caller.mark(end);
      await reply.whole();
      if (second.status === 200)
        equal('the second answer', caller.emitted(await second.envelopes()), [message('second')]);
    },
  ],
  active: [
    '2.5',
    'GET of a session names the run that executes, so that a client that reloads finds it.',
    async (caller) => {
      const id = caller.name('session');
      const { reply, runPath, end } = await caller.begin({ kwargs: { session_id: id } });
      const { active } = await caller.json<SessionPage>(caller.sessionPath(id));
      equal('active', active, runPath.split('/').at(-1));
      await caller.mark(end);
      await reply.whole();
    },
  ],
  independent: [
    '2.5',
    'Queries without a session, or of another session, do not wait for a session.',
    async (caller) => {
      const { reply, end } = await caller.begin({ kwargs: { session_id: caller.name('session') } });
      for (const kwargs of [{}, { session_id: caller.name('session') }])
        equal('another answer', await caller.answer([say('a')], { kwargs }), [message('a')]);
      await caller.mark(end);
      await reply.whole();
    },
  ],
  'any-id': [
    '2.5',
    'A session_id may be any string, with a slash, a percent sign and any script.',
    async (caller) => {
      const id = `${caller.name('session-a/b')} %2F?#é你🌍`;
      await caller.answer([say('a')], { kwargs: { session_id: id } });
      const page = await caller.json<SessionPage>(caller.sessionPath(id));
      equal('the session', [page.id, page.turns.length], [id, 1]);
    },
  ],
  'long-text': [
    '2.10',
    'A page cuts texts over 64 KiB, says so with the size and the digest, and the whole text can be downloaded.',
    async (caller) => {
      const content = '0123456789abcdef'.repeat(5_000);
      const { reply, page } = await session(caller, [say(content)]);
      const [turn] = page.turns;
      const sha256 = createHash('sha256').update(content).digest('hex');
      has('the turn', turn!, { truncated: true, size: content.length, sha256 });
      holds(
        content.startsWith(turn!.text) && turn!.text.length <= 65_536,
        'the beginning of the text',
        turn!.text,
      );
      const whole = await caller.get(`${caller.runPath(reply)}/files/${sha256}`, {});
      equal('the status of the download', whole.status, 200);
      holds((await whole.text()) === content, 'the whole text', `${whole.bytes.length} other bytes`);
    },
  ],
  erase: [
    '2.5',
    'DELETE of a session is 204: its turns and its runs are gone, and what executes is cancelled.',
    async (caller) => {
      const id = caller.name('session');
      const kwargs = { session_id: id };
      const first = await caller.ask([say('a')], { kwargs });
      await first.whole();
      const { reply, runPath } = await caller.begin({ kwargs });
      const erased = await caller.delete(caller.sessionPath(id));
      equal('the status', erased.status, 204);
      const last = (await reply.envelopes()).at(-1);
      equal('the end of the run that executed', last, { type: 'done', data: { status: 'cancelled' } });
      for (const path of [caller.sessionPath(id), caller.runPath(first), runPath])
        await refused(await caller.get(path, JSON_TYPE), 404, 'not_found', path);
    },
  ],
  'not-found': [
    '2.3',
    'A session that does not exist is 404.',
    async (caller) => {
      const path = caller.sessionPath(caller.name('no-such-session'));
      await refused(await caller.get(path), 404, 'not_found');
    },
  ],
});

/** A session of one turn, as its page shows it. */
async function session(caller: Caller, steps: Step[], parts = [text('question')]) {
  const id = caller.name('session');
  const reply = await caller.ask(steps, { parts, kwargs: { session_id: id } });
  await reply.whole();
  const page = await caller.json<SessionPage>(caller.sessionPath(id));
  if (page.turns?.[0] === undefined) throw new Unmet('a turn when its run has ended', JSON.stringify(page));
  return { reply, page };
}
