import type { Caller } from '../caller.js';
import { promisesOf } from '../promise.js';
import { file, say } from '../script.js';
import { equal, has } from '../unmet.js';
import { refused } from './refusals.js';

interface SessionPage {
  turns: { runId: string; text: string; parts: { sha256?: string }[] }[];
}

export const SESSION_CHANGES = promisesOf(
  'sessions',
  {
    replace: [
      '2.16',
      'A query with Session-After replaces the later turns of its session, and the agent receives the earlier ones.',
      async (caller) => {
        const id = await conversation(caller, 'one', 'two', 'three');
        const kwargs = { session_id: id };
        const options = { kwargs, headers: { 'session-after': '1' } };
        equal('the history', await caller.report<string[]>({ report: 'history' }, options), ['one']);
        const texts = await textsOf(caller, id);
        equal('the number of turns and the first', [texts.length, texts[0]], [2, 'one']);
      },
    ],
    'replace-refused': [
      '2.16',
      'Session-After is 400 where it is no number of a turn, and 409 session_busy while a run of the session has not ended.',
      async (caller) => {
        const id = await conversation(caller, 'one');
        const kwargs = { session_id: id };
        const replacing = (value: string) =>
          caller.submit([say('other')], { kwargs, headers: { 'session-after': value } });
        for (const value of ['2', '-1', 'x'])
          await refused(await replacing(value), 400, 'invalid_query', value);
        const { reply, end } = await caller.begin({ kwargs });
        await refused(await replacing('0'), 409, 'session_busy');
        await caller.mark(end);
        await reply.whole();
        equal('the first turn', (await textsOf(caller, id))[0], 'one');
      },
    ],
    fork: [
      '2.16',
      'A fork of a session is 201 with Location, begins with its first turns, and keeps them with their files when the session is erased.',
      async (caller) => {
        const id = caller.name('session');
        const parts = [file('a.txt', 'text/plain', 'Hi')];
        await caller.answer([say('one')], { kwargs: { session_id: id }, parts });
        await caller.answer([say('two')], { kwargs: { session_id: id } });
        const newId = caller.name('session');
        const made = await fork(caller, id, { afterTurn: 1, session_id: newId });
        equal('the status', made.status, 201);
        equal('Location', made.headers['location'], caller.sessionPath(newId));
        has('the session', await made.json(), { id: newId, turns: 1 });
        await caller.answer([say('other')], { kwargs: { session_id: newId } });
        equal('the turns of the session', await textsOf(caller, id), ['one', 'two']);
        equal('the status of its erasure', (await caller.delete(caller.sessionPath(id))).status, 204);
        const { turns } = await caller.json<SessionPage>(caller.sessionPath(newId));
        equal(
          'the turns of the fork',
          turns.map(({ text }) => text),
          ['one', 'other'],
        );
        const { runId, parts: kept } = turns[0]!;
        const content = await caller.get(`${caller.path}/${runId}/files/${kept[0]!.sha256}`, {});
        equal('the file of the first turn', [content.status, await content.text()], [200, 'Hi']);
        await caller.delete(caller.sessionPath(newId));
      },
    ],
    'fork-refused': [
      '2.16',
      'A fork is 404 without the session, 409 session_exists where its id is taken, and 400 where the session has fewer turns.',
      async (caller) => {
        const [id, taken] = [await conversation(caller, 'one'), await conversation(caller, 'one')];
        await refused(await fork(caller, caller.name('session'), { afterTurn: 0 }), 404, 'not_found');
        await refused(await fork(caller, id, { afterTurn: 1, session_id: taken }), 409, 'session_exists');
        await refused(await fork(caller, id, { afterTurn: 2 }), 400, 'invalid_query');
      },
    ],
  },
  '2027-02',
);

/** A session with these answers. */
async function conversation(caller: Caller, ...answers: string[]): Promise<string> {
  const id = caller.name('session');
  for (const answer of answers) await caller.answer([say(answer)], { kwargs: { session_id: id } });
  return id;
}

async function textsOf(caller: Caller, id: string): Promise<string[]> {
  return (await caller.json<SessionPage>(caller.sessionPath(id))).turns.map(({ text }) => text);
}

function fork(caller: Caller, id: string, body: object) {
  const headers = { 'content-type': 'application/json' };
  return caller.send({
    method: 'POST',
    path: `${caller.sessionPath(id)}/fork`,
    headers,
    body: JSON.stringify(body),
  });
}
