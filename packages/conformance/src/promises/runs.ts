import { randomUUID } from 'node:crypto';
import { type Caller, FULL, type Run } from '../caller.js';
import { promisesOf } from '../promise.js';
import { message, say, type Step } from '../script.js';
import { equal, has, holds } from '../unmet.js';
import { refused } from './refusals.js';

/** The steps of a run of four events and `done`. */
export const FOUR: Step[] = ['1', '2', '3', '4'].map(say);

export const RUNS = promisesOf('runs', {
  path: [
    '2.7',
    'Content-Location is a path of the service, with every prefix: GET of it returns the run as JSON.',
    async (caller) => {
      const reply = await caller.ask([say('a')]);
      await reply.whole();
      const path = caller.runPath(reply);
      equal('the id of the run', (await caller.run(path)).id, path.split('/').at(-1));
    },
  ],
  json: [
    '2.4',
    'The JSON of a run has its id, status, session, times and number of events, while it executes and afterwards.',
    async (caller) => {
      const { reply, runPath, end } = await caller.begin();
      const running = await caller.run(runPath);
      has('a run that executes', running, { status: 'running', session: null, endedAt: null });
      holds(isTime(running.createdAt) && isTime(running.startedAt), 'createdAt and startedAt', running);
      await caller.mark(end);
      await reply.whole();
      const ended = await caller.run(runPath);
      has('a run that has ended', ended, { status: 'completed', id: running.id });
      holds(isTime(ended.endedAt), 'endedAt', ended);
      equal('the number of events', ended.events, reply.reading('plain').frames.length);
    },
  ],
  follow: [
    '2.4',
    'GET accepting text/event-stream follows a run in the full profile: all events from the first, also after its end.',
    async (caller) => {
      const reply = await caller.ask(FOUR, { headers: FULL });
      const frames = await reply.frames();
      equal('the type of the last event', frames.at(-1)?.envelope.type, 'done');
      const follower = await caller.follow(caller.runPath(reply));
      equal('the status', follower.status, 200);
      equal('what the follower gets', await follower.frames(), frames);
    },
  ],
  'follow-live': [
    '2.4',
    'Any number of followers get what is in the log, and then what comes, without a gap or a repeat.',
    async (caller) => {
      const { reply, runPath, end } = await caller.begin({ headers: FULL });
      const followers = await Promise.all([1, 2, 3].map(() => caller.follow(runPath)));
      for (const follower of followers) await follower.untilText(`first ${end}`);
      await caller.mark(end);
      const frames = await reply.frames();
      for (const follower of followers) equal('what a follower gets', await follower.frames(), frames);
    },
  ],
  'follow-at-end': [
    '2.4',
    'GET with the cursor of the last event of a run that has ended is 204.',
    async (caller) => {
      const { runPath, runId, frames } = await ended(caller);
      for (const headers of [{ 'last-event-id': `${runId}.${frames.length}` }, undefined]) {
        const after = headers ? '' : `?after=${frames.length}`;
        const reply = await caller.follow(runPath + after, headers);
        equal(`the status ${headers ? 'with Last-Event-ID' : 'with ?after'}`, reply.status, 204);
      }
    },
  ],
  resume: [
    '2.4',
    'A stream is resumed after any of its events with Last-Event-ID or ?after, without a gap or a repeat.',
    async (caller) => {
      const { runPath, runId, frames } = await ended(caller);
      for (let seq = 0; seq < frames.length; seq++) {
        const rest = frames.slice(seq);
        const byHeader = await caller.follow(runPath, { 'last-event-id': `${runId}.${seq}` });
        equal(`the events after Last-Event-ID ${seq}`, await byHeader.frames(), rest);
        const byParameter = await caller.follow(`${runPath}?after=${seq}`);
        equal(`the events after ?after=${seq}`, await byParameter.frames(), rest);
      }
    },
  ],
  'resume-cut': [
    '2.4',
    'A stream whose connection was cut while the agent works is resumed where it was cut.',
    async (caller) => {
      const { reply, runPath, end } = await caller.begin({ headers: FULL });
      const received = reply.reading('full').frames;
      reply.cut();
      const follower = await caller.follow(runPath, { 'last-event-id': received.at(-1)!.id! });
      await caller.mark(end);
      const all = await (await caller.follow(runPath)).frames();
      equal('both pieces', [...received, ...(await follower.frames())], all);
      equal('the end', all.at(-1)?.envelope, { type: 'done', data: { status: 'completed' } });
    },
  ],
  'resume-post': [
    '2.4',
    'POST with Last-Event-ID returns the missing rest and starts no new run.',
    async (caller) => {
      const mark = caller.name('execution');
      const script = [{ mark }, ...FOUR];
      const first = await caller.ask(script, { headers: FULL });
      const frames = await first.frames();
      const again = await caller.ask(script, { headers: { ...FULL, 'last-event-id': frames[1]!.id! } });
      equal('the rest', await again.frames(), frames.slice(2));
      equal('how often the agent was asked', await caller.count(mark), 1);
    },
  ],
  cursor: [
    '2.4',
    'A cursor that is malformed, of another run or beyond the last event is 400.',
    async (caller) => {
      const { runPath, runId, frames } = await ended(caller);
      const cursors = [
        'x',
        `${runId}.-1`,
        `${runId}.x`,
        `${randomUUID()}.1`,
        `${runId}.${frames.length + 1}`,
      ];
      for (const cursor of cursors)
        await refused(
          await caller.follow(runPath, { 'last-event-id': cursor }),
          400,
          'invalid_query',
          cursor,
        );
    },
  ],
  accept: [
    '2.1',
    'GET takes the q-values of Accept into account.',
    async (caller) => {
      const { runPath } = await ended(caller);
      const types = {
        'text/event-stream;q=0.1, application/json': 'json',
        'application/json;q=0.1, text/event-stream': 'stream',
      };
      for (const [accept, expected] of Object.entries(types)) {
        const reply = await caller.get(runPath, { accept });
        const type = /event-stream/.test(reply.headers['content-type'] ?? '') ? 'stream' : 'json';
        equal(`what Accept: ${accept} selects`, type, expected);
        await reply.whole();
      }
    },
  ],
  'respond-async': [
    '2.4',
    'Prefer: respond-async is 202: Location and the JSON name the run, no stream follows, and the run goes on alone.',
    async (caller) => {
      const end = caller.name('end');
      const reply = await caller.submit([{ wait: end }, say('a')], { headers: { prefer: 'respond-async' } });
      equal('the status', reply.status, 202);
      const { id } = await reply.json<Run>();
      const { location } = reply.headers;
      equal('the end of Location', location?.split('/').at(-1), id);
      await caller.mark(end);
      const frames = await (await caller.follow(location!)).frames();
      equal('its answer', caller.emitted(frames.map(({ envelope }) => envelope)), [message('a')]);
    },
  ],
  'slow-reader': [
    '2.4',
    'A client that stops reading is not disconnected, and continues where it stopped.',
    async (caller) => {
      const content = 'x'.repeat(16 * 1024);
      const steps = [{ emit: message(content), times: 400 }];
      const reply = await caller.ask(steps, { isStalled: true });
      // Other callers are answered meanwhile.
      equal('another answer', await caller.answer([say('a')]), [message('a')]);
      reply.read();
      const envelopes = caller.emitted(await reply.envelopes());
      equal('the number of messages', envelopes.length, 400);
    },
  ],
  'not-found': [
    '2.3',
    'A run that does not exist is 404, whatever is asked of it.',
    async (caller) => {
      for (const id of [randomUUID(), 'no-such-run']) {
        const path = `${caller.path}/${id}`;
        const replies = await Promise.all([caller.get(path), caller.follow(path), caller.delete(path)]);
        for (const reply of replies) await refused(reply, 404, 'not_found', id);
      }
    },
  ],
});

function isTime(value: unknown): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*Z$/.test(value) && !Number.isNaN(Date.parse(value));
}

/** A run that has ended, with its frames. */
async function ended(caller: Caller) {
  const reply = await caller.ask(FOUR, { headers: FULL });
  const frames = await reply.frames();
  holds(frames.length > FOUR.length, 'an event for each of four steps, and done', frames);
  const runPath = caller.runPath(reply);
  return { frames, runPath, runId: runPath.split('/').at(-1)! };
}
