import { FULL, type Run } from '../caller.js';
import { promisesOf } from '../promise.js';
import type { Question } from '../script.js';
import { equal, has, holds } from '../unmet.js';
import { accepted, answer, asking, done, heard, type Input, inputsOf, outcomesOf } from './asking.js';
import { refused } from './refusals.js';

const CALL = { toolCallId: 'c', name: 'n', arguments: { n: 1 } };
const APPROVAL: Question = { key: 'a', kind: 'approval', message: 'May I?', ...CALL, editable: true };
const CHOICE: Question = { key: 'b', kind: 'input', message: 'Which?', schema: { enum: ['x', 'y'] } };

const answered = (id: string, value: unknown) => ({ id, outcome: 'answered', value });
const APPROVED = answered('a', { approved: true });
const CHOSEN = answered('b', 'x');

export const INPUT = promisesOf(
  'input',
  {
    asks: [
      '2.13',
      'What an agent asks is one envelope input_required; its run has this status, goes on after the answers, and logs them.',
      async (caller) => {
        const { reply, runPath, requests } = await asking(caller, [APPROVAL, CHOICE]);
        const { key: id, ...approval } = APPROVAL;
        has('the first request', requests[0]!, { id, ...approval, onExpire: 'decline' });
        has('the second request', requests[1]!, { id: 'b', kind: 'input', schema: CHOICE.schema });
        holds(Date.parse(requests[0]!.expiresAt) > Date.now(), 'a time of the future as expiresAt', requests);
        equal('the status of the run', (await caller.run(runPath)).status, 'input_required');
        await accepted(caller, runPath, [APPROVED, CHOSEN]);
        const [resolved, report, ...rest] = (await reply.envelopes('full')).slice(1);
        equal('the type of the envelope after the answers', resolved?.type, 'input_resolved');
        equal('the answers in the log', outcomesOf(resolved!), [APPROVED, CHOSEN]);
        equal('what the agent gets', heard(report), [APPROVED, CHOSEN]);
        equal('the rest', rest, [done('completed')]);
      },
    ],
    stream: [
      '2.13',
      'Answers that accept text/event-stream are 200 with the stream from them on, others are 200 with the JSON of the run.',
      async (caller) => {
        const first = await asking(caller, [CHOICE]);
        const stream = await answer(caller, first.runPath, [CHOSEN], FULL);
        equal('the status', stream.status, 200);
        equal('the stream', await stream.frames(), (await first.reply.frames()).slice(1));
        const second = await asking(caller, [CHOICE]);
        const json = await answer(caller, second.runPath, [CHOSEN]);
        equal('the run', (await json.json<Run>()).id, second.runPath.split('/').at(-1));
        await second.reply.whole();
      },
    ],
    follow: [
      '2.13',
      'A run that asks can be followed and resumed: what is missing comes at once, and the rest after the answer.',
      async (caller) => {
        const { reply, runPath } = await asking(caller, [CHOICE]);
        const [all, none] = [await caller.follow(runPath), await caller.follow(`${runPath}?after=1`)];
        await all.untilText('"input_required"');
        await accepted(caller, runPath, [CHOSEN]);
        const frames = await reply.frames();
        equal('what a follower gets', await all.frames(), frames);
        equal('what a follower gets who resumes', await none.frames(), frames.slice(1));
      },
    ],
    together: [
      '2.13',
      'Requests may be answered one after another; all answers of one call take effect, or none.',
      async (caller) => {
        const { reply, runPath } = await asking(caller, [APPROVAL, CHOICE]);
        await refused(await answer(caller, runPath, [APPROVED, answered('b', 'z')]), 400, 'invalid_answer');
        equal(
          'how the requests are resolved',
          (await inputsOf(caller, runPath)).map(({ resolved }) => resolved),
          [null, null],
        );
        await accepted(caller, runPath, [APPROVED]);
        equal('the status of the run', (await caller.run(runPath)).status, 'input_required');
        await accepted(caller, runPath, [CHOSEN]);
        equal('what the agent gets', heard((await reply.envelopes('full')).at(-2)), [APPROVED, CHOSEN]);
      },
    ],
    faults: [
      '2.13',
      'An answer that does not fit is 400 invalid_answer with a JSON Pointer; to a request that does not exist it is 404.',
      async (caller) => {
        const strict = { ...APPROVAL, editable: false };
        const { runPath } = await asking(caller, [strict, CHOICE]);
        const faults: [answers: unknown[], pointer: string][] = [
          [[], '/answers'],
          [[answered('a', { approved: 'yes' })], '/answers/0/value/approved'],
          [[answered('a', { approved: true, arguments: { n: 2 } })], '/answers/0/value/arguments'],
          [[APPROVED, answered('b', 'z')], '/answers/1/value'],
          [[{ id: 'a', outcome: 'expired' }], '/answers/0/outcome'],
        ];
        for (const [answers, pointer] of faults) {
          const { errors } = await refused(
            await answer(caller, runPath, answers),
            400,
            'invalid_answer',
            pointer,
          );
          equal('the pointer', errors?.[0]?.pointer, pointer);
        }
        await refused(await answer(caller, runPath, [answered('c', 'x')]), 404, 'not_found');
        const other = `${caller.path}/${caller.name('no-such-run')}`;
        await refused(await answer(caller, other, [APPROVED]), 404, 'not_found');
      },
    ],
    first: [
      '2.13',
      'The first answer counts: the same answer again is 200, another one is 409 input_resolved with the first.',
      async (caller) => {
        const { reply, runPath } = await asking(caller, [CHOICE]);
        for (let n = 0; n < 2; n++) await accepted(caller, runPath, [CHOSEN]);
        await reply.whole();
        await accepted(caller, runPath, [CHOSEN]);
        const problem = await refused(
          await answer(caller, runPath, [answered('b', 'y')]),
          409,
          'input_resolved',
        );
        has('the answer that counts', (problem['answers'] as object[])[0]!, CHOSEN);
      },
    ],
    declined: [
      '2.13',
      'A request may be declined, and the agent learns that.',
      async (caller) => {
        const { reply, runPath } = await asking(caller, [CHOICE]);
        const declined = { id: 'b', outcome: 'declined' };
        await accepted(caller, runPath, [declined]);
        equal('what the agent gets', heard((await reply.envelopes('full')).at(-2)), [declined]);
      },
    ],
    kinds: [
      '2.13',
      'A client answers a tool with its content, and an auth with an empty object; the arguments of an approval may be replaced.',
      async (caller) => {
        const tool: Question = { key: 't', kind: 'tool', message: 'Look', name: 'look', arguments: {} };
        const auth: Question = { key: 'u', kind: 'auth', message: 'Sign in', url: 'https://example.org/' };
        const { reply, runPath } = await asking(caller, [APPROVAL, tool, auth]);
        await refused(await answer(caller, runPath, [answered('t', {})]), 400, 'invalid_answer');
        const answers = [
          answered('a', { approved: true, arguments: { n: 2 } }),
          answered('t', { content: [1], isError: true }),
          answered('u', {}),
        ];
        await accepted(caller, runPath, answers);
        equal('what the agent gets', heard((await reply.envelopes('full')).at(-2)), answers);
      },
    ],
    lists: [
      '2.13',
      'GET lists the requests of a run with their answers, and those of all runs that are open; status=input_required selects.',
      async (caller) => {
        const { reply, runPath } = await asking(caller, [APPROVAL, CHOICE]);
        await accepted(caller, runPath, [APPROVED]);
        const [first, second] = await inputsOf(caller, runPath);
        equal('the first request', [first?.id, first?.resolved?.outcome], ['a', 'answered']);
        equal('the second request', [second?.id, second?.resolved], ['b', null]);
        const { runId } = first!;
        const openIds = async () => {
          const { inputs } = await caller.json<{ inputs: Input[] }>(`${caller.path}/inputs?limit=500`);
          return inputs.filter((each) => each.runId === runId).map(({ id }) => id);
        };
        const { runs } = await caller.json<{ runs: Run[] }>(`${caller.path}?status=input_required&limit=500`);
        equal(
          'whether the run is listed',
          runs.some(({ id }) => id === runId),
          true,
        );
        equal('the open requests of the run', await openIds(), ['b']);
        await accepted(caller, runPath, [CHOSEN]);
        await reply.whole();
        equal('the open requests afterwards', await openIds(), []);
      },
    ],
    cancel: [
      '2.13',
      'When a run that asks is cancelled, its log closes the requests and the calls; an answer is then 409 run_ended.',
      async (caller) => {
        const { reply, runPath } = await asking(caller, [APPROVAL]);
        equal('the status', (await caller.delete(runPath)).status, 200);
        const [resolved, result, ...rest] = (await reply.envelopes('full')).slice(1);
        equal('the requests', outcomesOf(resolved!), [{ id: 'a', outcome: 'cancelled' }]);
        has('the result of the call', result?.data as object, { id: CALL.toolCallId, isError: true });
        equal('the rest', rest, [done('cancelled')]);
        await refused(await answer(caller, runPath, [APPROVED]), 409, 'run_ended');
      },
    ],
    expired: [
      '2.13',
      'A request that expires has the value of its onExpire, and the run goes on; an answer is then 409 input_expired.',
      async (caller) => {
        const question = { ...CHOICE, expiresInMs: 1, onExpire: { value: 'y' } };
        const { reply, runPath } = await asking(caller, [question]);
        const [report, end] = (await reply.envelopes('full')).slice(-2);
        equal('what the agent gets', heard(report), [{ id: 'b', outcome: 'expired', value: 'y' }]);
        equal('the end', end, done('completed'));
        await refused(await answer(caller, runPath, [CHOSEN]), 409, 'input_expired');
      },
    ],
    private: [
      '2.13',
      'The log and the lists do not have the value of the answer to a private request.',
      async (caller) => {
        const { reply, runPath } = await asking(caller, [{ ...CHOICE, private: true }]);
        await accepted(caller, runPath, [CHOSEN]);
        const [, resolved, report] = await reply.envelopes('full');
        equal('the answer in the log', outcomesOf(resolved!), [{ id: 'b', outcome: 'answered' }]);
        equal('what the agent gets', heard(report), [CHOSEN]);
        const [input] = await inputsOf(caller, runPath);
        holds(input?.resolved && !('value' in input.resolved), 'no value in the list', input);
      },
    ],
    session: [
      '2.13',
      'GET of a session names the run that asks; a newer query waits for it, is 409 session_busy, or ends it as cancelled.',
      async (caller) => {
        const kwargs = { session_id: caller.name('session') };
        const { reply, runPath } = await asking(caller, [CHOICE], kwargs);
        const page = await caller.json(caller.sessionPath(kwargs.session_id));
        equal('asking', page['asking'], runPath.split('/').at(-1));
        const newer = await caller.submit([], { kwargs });
        if (newer.status === 409) return void (await refused(newer, 409, 'session_busy'));
        if ((await caller.run(runPath)).status !== 'input_required') {
          const [resolved, ...rest] = (await reply.envelopes('full')).slice(1);
          equal('the requests', outcomesOf(resolved!), [{ id: 'b', outcome: 'superseded' }]);
          equal('the end', rest, [done('cancelled')]);
        } else await accepted(caller, runPath, [CHOSEN]);
        await newer.whole();
      },
    ],
  },
  '2027-01',
);
