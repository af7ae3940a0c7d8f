import { type Caller, FULL, type Run } from '../caller.js';
import { promisesOf } from '../promise.js';
import { say, text } from '../script.js';
import { equal, has, holds } from '../unmet.js';
import { refused } from './refusals.js';

interface RunList {
  runs: Run[];
  next: string | null;
}

interface SessionList {
  sessions: { id: string; title: string | null; turns: number; updatedAt: string; active: string | null }[];
  next: string | null;
}

export const LISTS = promisesOf('lists', {
  runs: [
    '2.10',
    'GET of the endpoint lists the runs of the caller, newest first, each as its own JSON.',
    async (caller) => {
      const { ids, session } = await runs(caller, 3);
      const list = await caller.json<RunList>(`${caller.path}?session=${session}`);
      equal('the ids', idsOf(list), ids.toReversed());
      equal('the first run', list.runs[0], await caller.run(`${caller.path}/${ids.at(-1)}`));
      equal('next', list.next, null);
      const all = await caller.json<RunList>(`${caller.path}?limit=500`);
      holds(
        all.runs.some(({ id }) => id === ids.at(-1)),
        'the run without a filter too',
        `${all.runs.length} other runs`,
      );
    },
  ],
  status: [
    '2.10',
    'The parameter status selects runs by their status.',
    async (caller) => {
      const { ids, session } = await runs(caller, 1);
      await (await caller.ask([{ fail: 'an exception' }], { kwargs: { session_id: session } })).whole();
      const select = async (status: string) =>
        (await caller.json<RunList>(`${caller.path}?session=${session}&status=${status}`)).runs;
      equal(
        'the completed runs',
        (await select('completed')).map(({ id }) => id),
        ids,
      );
      equal(
        'the status of the failed runs',
        (await select('failed')).map(({ status }) => status),
        ['failed'],
      );
      equal('the runs that execute', await select('running'), []);
    },
  ],
  pages: [
    '2.10',
    'A list comes in pages: limit says how many entries, next is the after of the next page, and null at the end.',
    async (caller) => {
      const { ids, session } = await runs(caller, 5);
      const pages = await allPages(caller, session);
      equal('the pages', pages, [ids.slice(3).toReversed(), ids.slice(1, 3).toReversed(), ids.slice(0, 1)]);
    },
  ],
  stable: [
    '2.10',
    'Each run is in one page exactly, also when runs are added meanwhile.',
    async (caller) => {
      const { ids, session } = await runs(caller, 4);
      const pages = await allPages(caller, session, () => runs(caller, 1, session));
      equal('the runs of all pages', pages.flat(), ids.toReversed());
    },
  ],
  sessions: [
    '2.10',
    'GET of …/sessions lists the sessions of the caller, last used first, with id, title, turns, updatedAt and active.',
    async (caller) => {
      const [older, newer] = [caller.name('session'), caller.name('session')];
      for (const session of [older, newer, older]) await runs(caller, 1, session);
      const { sessions } = await caller.json<SessionList>(`${caller.path}/sessions?limit=500`);
      const own = sessions.filter(({ id }) => [older, newer].includes(id));
      equal(
        'the ids',
        own.map(({ id }) => id),
        [older, newer],
      );
      has('the first session', own[0]!, { title: 'The title', turns: 2, active: null });
      holds(!Number.isNaN(Date.parse(own[0]!.updatedAt)), 'updatedAt', own[0]);
    },
  ],
  'session-pages': [
    '2.10',
    'The list of sessions has pages too.',
    async (caller) => {
      const sessions = [1, 2, 3].map(() => caller.name('session'));
      for (const session of sessions) await runs(caller, 1, session);
      const seen: string[] = [];
      for (let next: string | null = ''; next !== null && seen.length < 1_000;) {
        const after: string = next === '' ? '' : `&after=${encodeURIComponent(next)}`;
        const page: SessionList = await caller.json(`${caller.path}/sessions?limit=1${after}`);
        equal('the entries of a page with limit=1', page.sessions.length, 1);
        seen.push(page.sessions[0]!.id);
        next = seen.includes(sessions[0]!) ? null : page.next;
      }
      equal(
        'the sessions',
        seen.filter((id) => sessions.includes(id)),
        sessions.toReversed(),
      );
    },
  ],
  parameters: [
    '2.10',
    'Parameters that are not valid are 400, with a pointer to each.',
    async (caller) => {
      const faults = {
        'limit=0': '/limit',
        'limit=501': '/limit',
        'limit=x': '/limit',
        'status=x': '/status',
        'after=%21': '/after',
      };
      for (const [parameter, pointer] of Object.entries(faults)) {
        const reply = await caller.get(`${caller.path}?${parameter}`);
        const { errors } = await refused(reply, 400, 'invalid_query', parameter);
        equal(
          `the pointers for ${parameter}`,
          errors?.map((error) => error.pointer),
          [pointer],
        );
      }
    },
  ],
});

function idsOf({ runs: all }: RunList): string[] {
  return all.map(({ id }) => id);
}

/** Runs of one session, oldest first. */
async function runs(caller: Caller, count: number, session = caller.name('session')) {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const options = { parts: [text('The title')], kwargs: { session_id: session }, headers: FULL };
    const reply = await caller.ask([say('a')], options);
    await reply.whole();
    ids.push(caller.runPath(reply).split('/').at(-1)!);
  }
  return { ids, session };
}

/** The ids of the pages of two runs each. */
async function allPages(
  caller: Caller,
  session: string,
  between?: () => Promise<unknown>,
): Promise<string[][]> {
  const pages: string[][] = [];
  for (let next: string | null = ''; next !== null && pages.length < 10;) {
    const after: string = next === '' ? '' : `&after=${encodeURIComponent(next)}`;
    const page: RunList = await caller.json(`${caller.path}?session=${session}&limit=2${after}`);
    pages.push(idsOf(page));
    next = page.next;
    await between?.();
  }
  return pages;
}
