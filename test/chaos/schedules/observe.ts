import assert from 'node:assert/strict';
import { get } from '../../support/client.js';
import { countDone, endOf } from './client.js';
import type { End, ModelRun } from './model.js';
import { endOfJson, type RunJson, type World } from './world.js';

/** What may have happened to the runs while several things happened at the same time. */
export class Allowed {
  readonly #ends = new Map<ModelRun, Set<End>>();
  /** The runs that end by themselves. */
  readonly ending = new Set<ModelRun>();
  /** The sessions that were erased. */
  readonly erased = new Set<string>();

  end(run: ModelRun, end: End): void {
    const ends = this.#ends.get(run) ?? new Set();
    this.#ends.set(run, ends.add(end));
  }

  /** The handler of a run was told to end it. */
  mustEnd(run: ModelRun, end: End): void {
    this.ending.add(run);
    this.end(run, end);
  }

  erase(owner: string, sessionId: string): void {
    this.erased.add(keyOf(owner, sessionId));
  }

  mayEnd(run: ModelRun, end: End): boolean {
    return this.#ends.get(run)?.has(end) ?? false;
  }

  mayVanish(run: ModelRun): boolean {
    return this.erased.has(keyOf(run.owner, run.session));
  }
}

interface Snapshot {
  views: Map<ModelRun, RunJson | undefined>;
  /** The queue of each session that the model knows, as run ids. */
  queues: Map<string, string[]>;
}

/**
 * Waits until the host is at rest, and brings the model to what is observed. Everything that has changed must be allowed.
 */
export async function observe(world: World, allowed: Allowed): Promise<void> {
  const { model } = world;
  let snapshot!: Snapshot;
  await world.until('the host comes to rest', async () => {
    snapshot = await takeSnapshot(world);
    return restlessness(world, snapshot, allowed);
  });
  for (const [run, view] of snapshot.views) {
    const hasStarted = run.status === 'waiting' && world.host.calls.has(run.id);
    if (view === undefined) {
      assert(allowed.mayVanish(run), `run ${run.id} is lost`);
      if (hasStarted) model.start(run);
      model.forget(run);
      continue;
    }
    const end = endOfJson(view);
    if (end !== undefined) {
      assert(allowed.mayEnd(run, end), `run ${run.id} has ended as ${end}`);
      const texts = await world.readLog(run);
      assert.equal(countDone(texts), 1);
      assert.equal(endOf(texts), end);
      if (hasStarted) model.start(run);
      model.end(run, end);
    } else if (view.status === 'running' && run.status === 'waiting') {
      model.start(run);
    }
  }
  for (const run of [...model.runs.values()]) {
    if (run.status === 'ended' && allowed.mayVanish(run) && !(await world.read(run))) model.forget(run);
  }
  for (const { owner, id, turns: before } of [...model.sessions]) {
    const turns = await turnsOf(world, owner, id);
    if (!allowed.erased.has(keyOf(owner, id))) {
      const expected = before.map((run) => run.id).sort();
      assert.deepEqual(turns && [...turns].sort(), expected, `the turns of the session ${id} of ${owner}`);
    }
    model.setSession(owner, id, turns, snapshot.queues.get(keyOf(owner, id)) ?? []);
  }
  model.makeReadyTogether();
  await world.settle();
}

async function takeSnapshot(world: World): Promise<Snapshot> {
  const views: Snapshot['views'] = new Map();
  for (const run of world.model.unfinished) views.set(run, await world.read(run));
  const queues: Snapshot['queues'] = new Map();
  for (const { owner, id } of world.model.sessions) {
    queues.set(keyOf(owner, id), await world.host.tell('queue', owner, id));
  }
  return { views, queues };
}

/** What is not at rest; undefined if nothing will change by itself. */
async function restlessness(
  world: World,
  { views, queues }: Snapshot,
  { ending }: Allowed,
): Promise<string | undefined> {
  const live = [...views].filter(([, view]) => view && endOfJson(view) === undefined);
  for (const [run] of live) if (ending.has(run)) return `${run.id} does not end`;
  const running = live.filter(([, view]) => view!.status === 'running').map(([run]) => run);
  const waiting = live.filter(([, view]) => view!.status === 'waiting').map(([run]) => run);
  const load = await world.host.tell('load');
  const known = waiting.filter(({ isKnownToHost }) => isKnownToHost).length;
  if (load.running !== running.length || load.waiting !== known) {
    return `${running.length} run and ${known} wait, but the load is ${JSON.stringify(load)}`;
  }
  for (const [key, queue] of queues) {
    const ofModel = live.map(([run]) => run).filter(({ owner, session }) => keyOf(owner, session) === key);
    if (queue.length > 1 && world.model.settings.sessionPolicy === 'interrupt')
      return `${queue[0]} is not cancelled`;
    if (queue.length !== ofModel.length) return `the queue of ${key} is ${queue.join()}`;
    assert(
      ofModel.every(({ id }) => queue.includes(id)),
      `the queue of ${key} has other runs`,
    );
  }
  const isFirst = ({ id, owner, session }: ModelRun) =>
    session === undefined || queues.get(keyOf(owner, session))![0] === id;
  for (const run of running) assert(isFirst(run), `run ${run.id} executes behind another run of its session`);
  const { maxRunning, maxRunningPerOwner = Infinity, disconnect } = world.model.settings;
  const runningOf = (owner: string) => running.filter((run) => run.owner === owner).length;
  for (const { owner } of running)
    assert(runningOf(owner) <= maxRunningPerOwner, `too many runs of ${owner}`);
  const ready = waiting.filter((run) => isFirst(run) && runningOf(run.owner) < maxRunningPerOwner);
  if (ready.length > 0 && load.running + load.overdue < maxRunning) return `${ready[0]!.id} does not start`;
  for (const run of running)
    if (!world.host.calls.has(run.id)) return `the handler of ${run.id} is not called`;
  const left = live.find(([run]) => !run.isDetached && world.clientsOf(run).length === 0);
  return left && disconnect !== 'continue' ? `${left[0].id} has no followers` : undefined;
}

async function turnsOf(world: World, owner: string, id: string): Promise<string[] | undefined> {
  const reply = await get(world.base, `/query/sessions/${encodeURIComponent(id)}?limit=500`, {
    'x-owner': owner,
  });
  if (reply.status === 404) return undefined;
  assert.equal(reply.status, 200);
  const { turns } = await reply.json<{ turns: { runId: string }[] }>();
  return turns.map(({ runId }) => runId);
}

function keyOf(owner: string, name: string | undefined): string {
  return JSON.stringify([owner, name]);
}
