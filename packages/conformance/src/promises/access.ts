import { type Caller, FULL, type Run } from '../caller.js';
import { promisesOf } from '../promise.js';
import { say } from '../script.js';
import { equal, holds, NotChecked } from '../unmet.js';
import { refused } from './refusals.js';

const CREDENTIALS = ['authorization', 'x-api-key'];

export const ACCESS = promisesOf('access', {
  missing: [
    '2.12',
    'A request without a credential is 401 with WWW-Authenticate, whatever it asks.',
    async (caller) => {
      const { stranger, runPath } = await withCredential(caller);
      const session = stranger.sessionPath('conversation');
      const asked = [
        await stranger.submit([say('a')]),
        ...(await Promise.all([caller.path, runPath, session].map((path) => stranger.get(path)))),
        await stranger.follow(runPath),
        await stranger.delete(runPath),
      ];
      for (const reply of asked) {
        await refused(reply, 401, 'unauthorized');
        holds(reply.headers['www-authenticate'], 'WWW-Authenticate', reply.headers);
      }
    },
  ],
  wrong: [
    '2.12',
    'A credential that is not valid is 401 with WWW-Authenticate, in Authorization and in X-API-Key.',
    async (caller) => {
      await withCredential(caller);
      for (const headers of [{ authorization: `Bearer ${caller.token}` }, { 'x-api-key': caller.token }]) {
        const reply = await caller.as(headers).submit([say('a')]);
        await refused(reply, 401, 'unauthorized');
        holds(reply.headers['www-authenticate'], 'WWW-Authenticate', reply.headers);
      }
    },
  ],
  'rate-headers': [
    '2.12',
    'RateLimit and RateLimit-Policy are on every response to a query where a rate is limited, and else on none.',
    async (caller) => {
      const replies = [await caller.submit([say('a')]), await caller.send({ body: '{' })];
      const seen = replies.flatMap(({ headers }) => [headers['ratelimit'], headers['ratelimit-policy']]);
      holds(
        new Set(seen.map((value) => value !== undefined)).size === 1,
        'all of these headers, or none',
        seen,
      );
    },
  ],
  'owner-runs': [
    '2.6',
    'A run of another owner is 404, exactly like one that does not exist: to follow, to read, to cancel, to resume.',
    async (caller) => {
      const other = otherOwner(caller);
      const reply = await caller.ask([say('a')], { headers: FULL });
      const [frame] = await reply.frames();
      const runPath = caller.runPath(reply);
      const unknown = `${caller.path}/00000000-0000-4000-8000-000000000000`;
      const requests = (path: string, id: string) => [
        other.get(path),
        other.follow(path),
        other.delete(path),
        other.submit([say('a')], { headers: { 'last-event-id': id } }),
      ];
      const bodies = async (path: string, id: string) => {
        const replies = await Promise.all(requests(path, id));
        return Promise.all(replies.map(async (each) => refused(each, 404, 'not_found')));
      };
      equal(
        'the problems of the two',
        await bodies(runPath, frame!.id!),
        await bodies(unknown, `${unknown.split('/').at(-1)}.1`),
      );
      equal('the run afterwards', (await caller.run(runPath)).status, 'completed');
    },
  ],
  'owner-sessions': [
    '2.6',
    'The sessions of two owners with one session_id do not collide: no turn is seen, and none is erased.',
    async (caller) => {
      const other = otherOwner(caller);
      const kwargs = { session_id: caller.name('session') };
      await caller.answer([say('mine')], { kwargs });
      const path = caller.sessionPath(kwargs.session_id);
      await refused(await other.get(path), 404, 'not_found');
      await (await other.delete(path)).whole();
      equal('the history of the other', await other.report({ report: 'history' }, { kwargs }), []);
      equal('the own history', await caller.report({ report: 'history' }, { kwargs }), ['mine']);
      await (await other.delete(path)).whole();
    },
  ],
  'owner-keys': [
    '2.6',
    'One Idempotency-Key of two owners is two runs.',
    async (caller) => {
      const other = otherOwner(caller);
      const headers = { 'idempotency-key': caller.name('key') };
      const replies = [await caller.ask([say('a')], { headers }), await other.ask([say('a')], { headers })];
      for (const reply of replies) await reply.whole();
      const [own, another] = replies.map((reply) => caller.runPath(reply));
      holds(own !== another, 'two runs', own);
    },
  ],
  'owner-lists': [
    '2.6',
    'No list of another owner has a run or a session of the caller.',
    async (caller) => {
      const other = otherOwner(caller);
      const kwargs = { session_id: caller.name('session') };
      const reply = await caller.ask([say('a')], { kwargs });
      await reply.whole();
      const { runs } = await other.json<{ runs: Run[] }>(`${caller.path}?limit=500`);
      const { sessions } = await other.json<{ sessions: { id: string }[] }>(
        `${caller.path}/sessions?limit=500`,
      );
      const own = [caller.runPath(reply).split('/').at(-1), kwargs.session_id];
      equal(
        'what is of the caller',
        [...runs, ...sessions].filter(({ id }) => own.includes(id)),
        [],
      );
    },
  ],
});

/** The caller without its credential, and a run of it. */
async function withCredential(caller: Caller) {
  const headers = Object.entries(caller.target.headers ?? {});
  const others = headers.filter(([name]) => !CREDENTIALS.includes(name));
  if (others.length === headers.length)
    throw new NotChecked(`it needs a credential: --header 'Authorization: Bearer …' or 'X-API-Key: …'`);
  const reply = await caller.ask([say('a')]);
  await reply.whole();
  return { stranger: caller.as(Object.fromEntries(others)), runPath: caller.runPath(reply) };
}

/** The service for another owner. @throws {NotChecked} the suite was given none */
export function otherOwner(caller: Caller): Caller {
  const { otherHeaders } = caller.target;
  if (otherHeaders === undefined)
    throw new NotChecked(
      `it needs the credential of another owner: --other-header 'Authorization: Bearer …'`,
    );
  return caller.as(otherHeaders);
}
