import assert from 'node:assert/strict';
import { get, request } from '../../../support/client.js';
import type { Model, ModelRun } from '../model.js';
import type { World } from '../world.js';
import { allRuns, Command, OWNERS, SESSIONS } from './command.js';
import { checkView } from './follow.js';
import { checkProblem } from './submit.js';

const NAMED = SESSIONS.filter((id) => id !== undefined);
const FORKS = [...NAMED, 'fork'];

interface Page {
  id: string;
  turns: {
    runId: string;
    parts: { text?: string }[];
    text: string;
    end: { status: string; error?: { code: string } };
  }[];
  next: number | null;
}

/** Reads a page of a session. */
export class ReadSession extends Command {
  async execute(world: World): Promise<void> {
    const [owner, id] = [this.pick(0, OWNERS), this.pick(1, NAMED)];
    const after = this.choices[2]! % 4;
    const limit = 1 + (this.choices[3]! % 3);
    const path = `/query/sessions/${encodeURIComponent(id)}?after=${after}&limit=${limit}`;
    const reply = await get(world.base, path, { 'x-owner': owner });
    const session = world.model.session(owner, id);
    if (!session) return checkProblem(reply, 404, 'not_found');
    assert.equal(reply.status, 200);
    const page = (await reply.json()) as unknown as Page;
    const expected = session.turns.slice(after, after + limit);
    assert.deepEqual(
      page.turns.map(({ runId, end, parts }) => [runId, end.error?.code ?? end.status, parts[0]!.text]),
      expected.map((run) => [run.id, run.end, run.text]),
    );
    for (const [index, { text }] of page.turns.entries()) checkText(world, expected[index]!, text);
    const last = Math.min(after + limit, session.turns.length);
    assert.equal(page.next, last < session.turns.length ? last : null);
  }
}

/** A turn has the messages of its run, as far as they were still in the log where another process has ended it. */
function checkText(world: World, run: ModelRun, text: string): void {
  if (run.end === 'interrupted' && world.model.settings.keepsShortLogs) return;
  const texts = run.emitted.map((_, index) => run.emitted.slice(0, index + 1).join(''));
  assert(['', ...texts].slice(run.unsureFrom ?? -1).includes(text), `the text of the turn of ${run.id}`);
}

/** Erases a session. Its runs end as cancelled, and nothing of it is found any more. */
export class Erase extends Command {
  async execute(world: World): Promise<void> {
    const [owner, id] = [this.pick(0, OWNERS), this.pick(1, NAMED)];
    const path = `/query/sessions/${encodeURIComponent(id)}`;
    const reply = await request(world.base, { method: 'DELETE', path, headers: { 'x-owner': owner } });
    const session = world.model.session(owner, id);
    if (!session) return checkProblem(reply, 404, 'not_found');
    assert.equal(reply.status, 204);
    world.model.cancelAll([...session.queue]);
    world.model.erase(owner, id);
  }
}

/** Makes a session of the first turns of another one, or of the same. Its files and turns are checked as those of any other. */
export class Fork extends Command {
  async execute(world: World): Promise<void> {
    const { model } = world;
    const [owner, id, newId] = [this.pick(0, OWNERS), this.pick(1, NAMED), this.pick(2, FORKS)];
    const afterTurn = this.choices[3]! % 4;
    const path = `/query/sessions/${encodeURIComponent(id)}/fork`;
    const body = JSON.stringify({ afterTurn, session_id: newId });
    const reply = await request(world.base, { path, headers: { 'x-owner': owner } }, body);
    const session = model.session(owner, id);
    if (!session) return checkProblem(reply, 404, 'not_found');
    if (model.session(owner, newId)) return checkProblem(reply, 409, 'session_exists');
    if (afterTurn > session.turns.length) return checkProblem(reply, 400, 'invalid_query');
    assert.equal(reply.status, 201);
    await reply.whole();
    model.fork(owner, id, afterTurn, newId);
  }
}

/** Cancels a run. */
export class Cancel extends Command {
  override check(model: Readonly<Model>): boolean {
    return model.runs.size > 0;
  }

  async execute(world: World): Promise<void> {
    const run = this.pick(0, allRuns(world.model));
    const path = `/query/${run.id}`;
    const reply = await request(world.base, { method: 'DELETE', path, headers: { 'x-owner': run.owner } });
    const isLate = run.status === 'running' && run.isDeaf;
    assert.equal(reply.status, isLate ? 202 : 200);
    if (run.status !== 'ended') world.model.end(run, 'cancelled');
    checkView(run, await reply.json());
  }
}
