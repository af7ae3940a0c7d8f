import assert from 'node:assert/strict';
import http from 'node:http';
import { FULL, type Reply, request } from '../../../support/client.js';
import type { ModelRun, Submission } from '../model.js';
import { Allowed, observe } from '../observe.js';
import { bodyOf, headersOf, type RunJson, type World } from '../world.js';
import { allRuns, Command, KEYS, OWNERS, SESSIONS } from './command.js';

/** Checks the problem of a refused request. */
export async function checkProblem(reply: Reply, status: number, code: string): Promise<void> {
  assert.equal(reply.status, status);
  assert.equal(reply.headers['content-type'], 'application/problem+json');
  const problem = await reply.json<{ status: number; code: string }>();
  assert.equal(problem.code, code);
  assert.equal(problem.status, status);
  assert.equal(reply.headers['retry-after'] !== undefined, status === 429 || status === 503);
}

/** Checks the answer to a query, and brings the model to it. */
export async function takeAnswer(
  world: World,
  submission: Submission,
  isAsync: boolean,
  reply: Reply,
): Promise<ModelRun | undefined> {
  const { model } = world;
  const predicted = model.predict(submission);
  if ('code' in predicted) {
    await checkProblem(reply, predicted.status, predicted.code);
    return undefined;
  }
  assert.equal(reply.status, isAsync ? 202 : 200);
  const view = isAsync ? await reply.json<RunJson & Record<string, unknown>>() : undefined;
  const id = view?.id ?? reply.runId;
  if (view) assert.equal(reply.headers.location, `/query/${id}`);
  if (predicted.known) assert.equal(id, predicted.known.id);
  else assert(!model.runs.has(id), `run ${id} is not new`);
  const run = predicted.known ?? model.admit(id, submission, isAsync);
  if (isAsync) run.isDetached = true;
  else world.addClient(reply, run, 0);
  return run;
}

/** Sends a query: in a session or not, with a key that is new, known or of another query, followed or not. */
export class Submit extends Command {
  async execute(world: World): Promise<void> {
    const submission = this.submission(world);
    const isAsync = this.pick(3, [false, false, true]);
    const headers = this.pick(4, [{}, FULL]);
    await takeAnswer(world, submission, isAsync, await world.post(submission, isAsync, headers));
  }

  submission(world: World): Submission {
    const owner = this.pick(0, OWNERS);
    const key = this.pick(2, [undefined, undefined, ...KEYS]);
    const known = allRuns(world.model).find((run) => run.owner === owner && run.key === key);
    const isRepeated = key !== undefined && known && this.choices[5]! % 4 > 0;
    if (isRepeated) return known;
    const session = this.pick(1, SESSIONS);
    const replaces = session !== undefined && this.choices[5]! % 4 === 1;
    return {
      owner,
      session,
      ...(replaces && { afterTurn: this.choices[6]! % 3 }),
      key,
      text: world.newText(),
      isDeaf: this.choices[6]! % 5 === 0,
      hasFile: this.choices[7]! % 4 === 0,
    };
  }
}

const INVALID: [body: string, status: number, code: string, headers?: Record<string, string>][] = [
  ['{', 400, 'invalid_json'],
  ['{"parts":[]}', 400, 'invalid_query'],
  ['{"parts":[{"type":"text"}]}', 400, 'invalid_query'],
  ['{}', 415, 'unsupported_media_type', { 'content-type': 'text/plain' }],
  ['{"parts":[{"type":"text","text":"x"}]}', 400, 'invalid_query', { 'last-event-id': 'nonsense' }],
];

/** Sends a query that is not valid, also with the key of a run. */
export class SubmitInvalid extends Command {
  async execute(world: World): Promise<void> {
    const [body, status, code, headers] = this.pick(0, INVALID);
    const reply = await request(
      world.base,
      {
        headers: { 'x-owner': 'ann', 'idempotency-key': 'k', 'content-type': 'application/json', ...headers },
      },
      body,
    );
    await checkProblem(reply, status, code);
  }
}

/** Sends a part of the body of a query, and cuts the connection: there is no run then, and the key is not known. */
export class CutBody extends Command {
  async execute(world: World): Promise<void> {
    const submission = newSubmission(world, this.pick(0, OWNERS), this.pick(1, SESSIONS), this.pick(2, KEYS));
    const body = bodyOf(submission);
    const cut = http.request(`${world.base}/query`, {
      method: 'POST',
      agent: false,
      headers: { ...headersOf(submission), 'content-length': Buffer.byteLength(body) },
    });
    const closed = new Promise((resolve) => cut.on('error', () => undefined).once('close', resolve));
    cut.write(body.slice(0, body.length / 2), () => cut.destroy());
    await closed;
  }
}

/** Sends a whole query, cuts the connection, and sends the query again with the same key: it is executed once. */
export class CutAndRetry extends Command {
  async execute(world: World): Promise<void> {
    const { model } = world;
    const submission = newSubmission(world, this.pick(0, OWNERS), this.pick(1, SESSIONS), world.newText());
    const predicted = model.predict(submission);
    const cut = http.request(`${world.base}/query`, {
      method: 'POST',
      agent: false,
      headers: headersOf(submission),
    });
    const closed = new Promise((resolve) => cut.on('error', () => undefined).once('close', resolve));
    cut.end(bodyOf(submission), () => setTimeout(() => cut.destroy(), this.choices[2]! % 5));
    await closed;
    const headers = this.pick(3, [{}, FULL]);
    let reply = await world.post(submission, false, headers);
    if ('code' in predicted) return checkProblem(reply, predicted.status, predicted.code);
    // The first query takes its place before the store knows its key.
    while (reply.status === 503 || reply.status === 429) reply = await world.post(submission, false, headers);
    const allowed = new Allowed();
    const run = addObserved(world, submission, reply.runId, false, allowed);
    if (model.settings.disconnect === 'cancel') allowed.end(run, 'cancelled');
    world.addClient(reply, run, 0);
    await observe(world, allowed);
  }
}

/**
 * Adds a run whose order among others is not known yet; says what it may do to the others.
 *
 * @param together runs that were asked for at the same time: any of them may be the newest
 */
export function addObserved(
  world: World,
  submission: Submission,
  id: string,
  isDetached: boolean,
  allowed: Allowed,
  together: ReadonlySet<ModelRun> = new Set(),
): ModelRun {
  const { model } = world;
  const { owner, session } = submission;
  if (model.settings.sessionPolicy === 'interrupt' && session !== undefined) {
    for (const older of model.session(owner, session)?.queue ?? []) {
      allowed.end(older, 'cancelled');
      // A handler that ignores its signal ends later than the run that interrupts it.
      if (!together.has(older)) allowed.ending.add(older);
    }
  }
  return model.add(id, submission, isDetached);
}

export function newSubmission(
  world: World,
  owner: string,
  session: string | undefined,
  key: string | undefined,
): Submission {
  return { owner, session, key, text: world.newText(), isDeaf: false, hasFile: true };
}
