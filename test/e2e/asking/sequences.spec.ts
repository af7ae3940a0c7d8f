import fc from 'fast-check';
import type { Envelope, InputAnswer, InputView, Question, ResolvedInput } from '../../../src/index.js';
import { promise } from '../../promises.js';
import { casesOf } from '../../support/long-form.js';
import { answer, answered, asks, declined, jsonAt, quarter } from '../../support/asking.js';
import { ask, cancel, envelopesOf, eventsOf, follow, FULL, type Reply } from '../../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

/** What the handler or a caller does. */
type Step =
  | { what: 'ask'; keys: string[]; expiresInMs: number; onExpire: 'decline' | 'fail' }
  | { what: 'answer'; keys: string[]; value: string | undefined }
  | { what: 'supersede' | 'cancel' | 'finish' | 'follow' };

const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1, maxLength: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('ask' as const),
      keys,
      expiresInMs: fc.constantFrom(1, 60_000, 60_000),
      onExpire: fc.constantFrom('decline' as const, 'fail' as const),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('answer' as const),
      keys,
      value: fc.constantFrom('x', 'y', undefined),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constantFrom('supersede', 'cancel', 'finish', 'follow') }),
  },
);
/** The steps of one entry happen at the same time. */
const steps = fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 8 });

/** What has become of a run. */
interface Outcome {
  runId: string;
  log: string;
  /** What the handler got. */
  told: ResolvedInput[];
  /** The answers that were accepted. */
  accepted: InputAnswer[];
}

// eslint-disable-next-line require-yield
async function* nothing(): AsyncGenerator<Envelope> {
  return;
}

describeOnOneAdapter('Whatever happens to a run that asks, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  let count = 0;
  beforeAll(async () => {
    host = await startAgent(adapter, (query, context) => {
      return query.kwargs['isOther'] ? nothing() : agent.handle(query, context);
    });
  });
  afterAll(() => host.close());

  /** Lets a run do these steps, and cancels it then. */
  const outcomeOf = async (all: Step[][]): Promise<Outcome> => {
    agent = new ScriptedAgent();
    const session = `s${++count}`;
    const submit = (isOther: boolean) =>
      ask(host.url, 'Hi', { headers: FULL, kwargs: { session_id: session, isOther } });
    const asked = await submit(false);
    const call = await agent.call(1);
    const { runId } = asked;
    const told: Promise<ResolvedInput[]>[] = [];
    const accepted: InputAnswer[] = [];
    const others: Reply[] = [];
    const take = async (each: Step): Promise<unknown> => {
      switch (each.what) {
        case 'ask': {
          const questions = each.keys.map((key): Question => quarter({ ...each, key }));
          return told.push(asks(call, questions).catch(() => []));
        }
        case 'answer': {
          const answers = each.keys.map((key) => (each.value ? answered(key, each.value) : declined(key)));
          const { status } = await answer(host.url, runId, answers);
          expect([200, 404, 409]).toContain(status);
          return status === 200 && accepted.push(...answers);
        }
        case 'supersede':
          return others.push(await submit(true));
        case 'follow':
          return others.push(await follow(host.url, runId));
        case 'cancel':
          return cancel(host.url, runId);
        case 'finish':
          return call.finish();
      }
    };
    for (const together of all) await Promise.all(together.map(take));
    await cancel(host.url, runId);
    const log = await asked.whole();
    for (const other of others) await other.whole();
    return { runId, log, told: (await Promise.all(told)).flat(), accepted };
  };

  it(promise('asking.once'), async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { runId, log, told, accepted } = await outcomeOf(all);
        const envelopes = envelopesOf(log);
        expect(eventsOf(log).map(({ id }) => id)).toEqual(envelopes.map((_, seq) => `${runId}.${seq + 1}`));
        expect(envelopes.findIndex(({ type }) => type === 'done')).toBe(envelopes.length - 1);
        const membersOf = <T>(type: string, member: string) =>
          envelopes
            .filter((envelope) => envelope.type === type)
            .flatMap(({ data }) => (data as Record<string, T[]>)[member]!);
        const required = membersOf<{ id: string }>('input_required', 'requests').map(({ id }) => id);
        expect(new Set(required).size).toBe(required.length);
        const logged = membersOf<ResolvedInput>('input_resolved', 'answers');
        expect(logged.map(({ id }) => id).toSorted()).toEqual(required.toSorted());
        // The handler, the log, the list and all callers agree.
        const { inputs } = await jsonAt<{ inputs: InputView[] }>(host.url, `/query/${runId}/inputs`);
        expect(inputs.map(({ id }) => id)).toEqual(required);
        const resolved = new Map(inputs.map((input) => [input.id, { id: input.id, ...input.resolved }]));
        for (const one of [...logged, ...told]) expect(one).toEqual(resolved.get(one.id));
        for (const one of accepted) expect(resolved.get(one.id)).toMatchObject(one);
        expect(await jsonAt(host.url, '/query/inputs')).toEqual({ inputs: [], next: null });
        await host.idle();
      }),
      { numRuns: casesOf(100) },
    );
  });
});
