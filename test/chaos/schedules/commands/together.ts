import assert from 'node:assert/strict';
import { message } from '../../../../src/index.js';
import { type Reply, request } from '../../../support/client.js';
import type { ModelRun, Submission } from '../model.js';
import { Allowed, observe } from '../observe.js';
import type { RunJson, World } from '../world.js';
import { Command, OWNERS, SESSIONS } from './command.js';
import { addObserved } from './submit.js';

/** What is under way, and what it may change. */
interface Batch {
  world: World;
  allowed: Allowed;
  /** The answers to queries, in the order in which they were sent. */
  answers: { submission: Submission; isAsync: boolean; reply: Promise<Reply> }[];
  work: Promise<unknown>[];
  /** The runs whose handler was told how to end. */
  told: Set<ModelRun>;
  /** The sessions that are being erased. */
  erasing: { owner: string; id: string }[];
}

type Act = (batch: Batch, choice: number) => void;

const cancel: Act = ({ world, allowed, work }, choice) => {
  const run = pick(world.model.unfinished, choice);
  if (!run) return;
  allowed.end(run, 'cancelled');
  const path = `/query/${run.id}`;
  const sent = request(world.base, { method: 'DELETE', path, headers: { 'x-owner': run.owner } });
  work.push(sent.then(({ status }) => assert([200, 202, 404].includes(status), `${status} for a cancel`)));
};

const finish: Act = ({ world, allowed, work, told }, choice) => {
  const run = pick(
    world.model.unfinished.filter(({ status }) => status === 'running'),
    choice,
  );
  if (!run || told.has(run)) return;
  told.add(run);
  allowed.mustEnd(run, choice % 2 ? 'completed' : 'handler_failed');
  work.push(world.host.tell(choice % 2 ? 'finish' : 'fail', run.id));
};

/** Emits, and finishes at once. */
const answer: Act = ({ world, allowed, work, told }, choice) => {
  const run = pick(
    world.model.unfinished.filter(({ status }) => status === 'running'),
    choice,
  );
  if (!run || told.has(run)) return;
  told.add(run);
  const text = world.newText();
  run.emitted.push(text);
  run.unsureFrom ??= run.emitted.length - 1;
  allowed.mustEnd(run, 'completed');
  work.push(world.host.tell('emit', run.id, [message(text)]), world.host.tell('finish', run.id));
};

const erase: Act = ({ world, allowed, work, erasing }, choice) => {
  const owner = OWNERS[choice % 2]!;
  const id = SESSIONS[1 + (choice % 2)]!;
  for (const run of world.model.session(owner, id)?.queue ?? []) allowed.end(run, 'cancelled');
  erasing.push({ owner, id });
  const path = `/query/sessions/${encodeURIComponent(id)}`;
  const sent = request(world.base, { method: 'DELETE', path, headers: { 'x-owner': owner } });
  work.push(
    sent.then(({ status }) => {
      assert([204, 404, 409].includes(status), `${status} for an erasure`);
      if (status === 204) allowed.erase(owner, id);
    }),
  );
};

const submit: Act = ({ world, answers }, choice) => {
  const isRepeated = choice % 3 === 0 && answers.length > 0;
  const submission = isRepeated
    ? answers[0]!.submission
    : {
        owner: OWNERS[(choice >> 2) % 2]!,
        session: SESSIONS[(choice >> 3) % 3],
        key: choice % 2 ? world.newText() : undefined,
        text: world.newText(),
        isDeaf: false,
        hasFile: choice % 5 === 0,
      };
  const isAsync = (choice >> 4) % 2 === 0;
  answers.push({ submission, isAsync, reply: world.post(submission, isAsync) });
};

const leave: Act = ({ world, allowed }, choice) => {
  const client = pick([...world.clients], choice);
  if (!client) return;
  client.cut();
  world.clients.delete(client);
  if (world.model.settings.disconnect !== 'continue') allowed.end(client.run, 'cancelled');
};

const ACTS = [submit, submit, submit, cancel, finish, answer, erase, leave];

/** Several things at the same time: their order is not known, so the model follows what is observed. */
export class Together extends Command {
  async execute(world: World): Promise<void> {
    const batch: Batch = {
      world,
      allowed: new Allowed(),
      answers: [],
      work: [],
      told: new Set(),
      erasing: [],
    };
    for (const choice of this.choices) ACTS[choice % ACTS.length]!(batch, Math.floor(choice / ACTS.length));
    const replies = await Promise.all(batch.answers.map(({ reply }) => reply));
    await Promise.all(batch.work);
    const added = await addRuns(batch, replies);
    for (const run of batch.told) if (run.isDeaf) world.model.stopHandler(run);
    for (const run of added) allowChanges(batch, run);
    await observe(world, batch.allowed);
  }
}

/** Adds the runs that were admitted. Equal queries with a key have one run. */
async function addRuns({ world, answers, allowed }: Batch, replies: Reply[]): Promise<Set<ModelRun>> {
  const { model } = world;
  const added = new Set<ModelRun>();
  const runOf = new Map<Submission, string>();
  for (const [index, { submission, isAsync }] of answers.entries()) {
    const reply = replies[index]!;
    if (reply.status !== 200 && reply.status !== 202) {
      // A run of a queue counts as waiting until it is refused, so that more queries are refused than are necessary.
      assert([409, 429, 503].includes(reply.status), `${reply.status} for a query`);
      await reply.whole();
      continue;
    }
    assert.equal(reply.status, isAsync ? 202 : 200);
    const id = isAsync ? (await reply.json<RunJson & Record<string, unknown>>()).id : reply.runId;
    if (submission.key !== undefined) assert.equal(id, runOf.get(submission) ?? id, 'one run per key');
    runOf.set(submission, id);
    const run = model.runs.get(id) ?? addObserved(world, submission, id, isAsync, allowed, added);
    added.add(run);
    if (isAsync) run.isDetached = true;
    else world.addClient(reply, run, 0);
  }
  return added;
}

/** New runs interrupt one another. An erasure cancels those of its session, also where it is then refused. */
function allowChanges({ world, allowed, erasing }: Batch, run: ModelRun): void {
  const { owner, session } = run;
  if (session === undefined) return;
  const isErased = erasing.some((other) => other.owner === owner && other.id === session);
  if (isErased || world.model.settings.sessionPolicy === 'interrupt') allowed.end(run, 'cancelled');
}

function pick<T>(things: T[], choice: number): T | undefined {
  return things[choice % things.length];
}
