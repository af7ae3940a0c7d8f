import assert from 'node:assert/strict';
import { FULL, get, type Reply, request } from '../../../support/client.js';
import type { Model, ModelRun } from '../model.js';
import { GRACE_MS } from '../settings.js';
import { knownEvents, type RunJson, type World } from '../world.js';
import { allRuns, Command, OWNERS } from './command.js';
import { checkProblem } from './submit.js';

const NOWHERE = '00000000-0000-4000-8000-000000000000';

/** Follows a run from its start, from a cursor in its log, from its end or from beyond it, in each of the three ways. */
export class Follow extends Command {
  override check(model: Readonly<Model>): boolean {
    return model.runs.size > 0;
  }

  async execute(world: World): Promise<void> {
    const run = this.pick(0, allRuns(world.model));
    const { events } = (await world.read(run))!;
    const after = this.pick(1, [0, Math.floor(events / 2), events, events + 1000]);
    const way = this.pick(2, ['header', 'parameter', 'post'] as const);
    const reply = await this.#request(world, run, after, way);
    if (after > events) return checkProblem(reply, 400, 'invalid_query');
    if (reply.status === 410) return checkExpired(world, run, reply, after, events);
    if (run.status === 'ended' && after === events && way !== 'post') return assert.equal(reply.status, 204);
    assert(reply.headers['content-location']!.endsWith(`/query/${run.id}`));
    world.addClient(reply, run, after);
    if (run.status !== 'ended') return;
    // A follower that is at the end gets nothing more.
    await reply.whole();
    if (after < events) return;
    assert.deepEqual(reply.events, []);
    world.clients.delete(world.clientsOf(run).at(-1)!);
  }

  async #request(
    world: World,
    run: ModelRun,
    after: number,
    way: 'header' | 'parameter' | 'post',
  ): Promise<Reply> {
    const headers = { 'x-owner': run.owner, ...FULL };
    const lastEventId = { 'last-event-id': `${run.id}.${after}` };
    if (way === 'post') return request(world.base, { headers: { ...headers, ...lastEventId } });
    if (way === 'header')
      return get(world.base, `/query/${run.id}?after=999`, { ...headers, ...lastEventId });
    return get(world.base, `/query/${run.id}?after=${after}`, headers);
  }
}

async function checkExpired(
  world: World,
  run: ModelRun,
  reply: Reply,
  after: number,
  events: number,
): Promise<void> {
  assert(world.options.settings.keepsShortLogs, `envelope ${after + 1} of ${run.id} was dropped`);
  const { oldest, latest } = await reply.json<{ oldest: number; latest: number }>();
  assert(oldest > after + 1 && oldest <= latest && latest === events);
}

/** Asks for a run or a session of another owner: the answer has the same bytes as for one that does not exist. */
export class AskAsStranger extends Command {
  override check(model: Readonly<Model>): boolean {
    return model.runs.size > 0;
  }

  async execute(world: World): Promise<void> {
    const run = this.pick(0, allRuns(world.model));
    const owner = OWNERS.find((other) => other !== run.owner)!;
    const way = this.pick(1, ['JSON', 'follow', 'resume', 'cancel'] as const);
    const [foreign, absent] = await Promise.all([run.id, NOWHERE].map((id) => ask(world, id, owner, way)));
    await checkProblem(foreign!, 404, 'not_found');
    assert.equal(await absent!.whole(), await foreign!.whole());
  }
}

function ask(
  world: World,
  id: string,
  owner: string,
  way: 'JSON' | 'follow' | 'resume' | 'cancel',
): Promise<Reply> {
  const headers = { 'x-owner': owner };
  if (way === 'JSON') return get(world.base, `/query/${id}`, headers);
  if (way === 'follow') return get(world.base, `/query/${id}`, { ...headers, ...FULL });
  if (way === 'cancel') return request(world.base, { method: 'DELETE', path: `/query/${id}`, headers });
  return request(world.base, { headers: { ...headers, 'last-event-id': `${id}.0` } });
}

/** Reads the JSON of a run. */
export class ReadRun extends Command {
  override check(model: Readonly<Model>): boolean {
    return model.runs.size > 0;
  }

  async execute(world: World): Promise<void> {
    const run = this.pick(0, allRuns(world.model));
    const view = (await world.read(run))!;
    checkView(run, view);
    assert(view.events >= knownEvents(run), `run ${run.id} has fewer events than were read`);
  }
}

/** Checks the JSON of a run. */
export function checkView(run: ModelRun, { id, status, session, error }: RunJson): void {
  const expected = run.status === 'ended' ? run.end : run.status;
  assert.deepEqual([id, error?.code ?? status, session], [run.id, expected, run.session ?? null]);
  assert.equal(error !== undefined, status === 'failed');
}

/** Cuts a follower. */
export class Leave extends Command {
  override check(model: Readonly<Model>): boolean {
    return model.unfinished.length > 0;
  }

  async execute(world: World): Promise<void> {
    const clients = [...world.clients];
    if (clients.length === 0) return;
    const client = this.pick(0, clients);
    const { run } = client;
    const { events } = (await world.read(run))!;
    const cutAt = performance.now();
    client.cut();
    world.clients.delete(client);
    if (run.isDetached || world.clientsOf(run).length > 0) return;
    const { disconnect } = world.model.settings;
    if (disconnect === 'grace' && this.pick(1, [true, false])) return this.#return(world, run, events, cutAt);
    if (disconnect !== 'continue') world.model.end(run, 'cancelled');
  }

  /** A run that is followed again before its time is over continues; one that is followed later may have ended. */
  async #return(world: World, run: ModelRun, after: number, cutAt: number): Promise<void> {
    const reply = await world.follow(run, after);
    const isInTime = performance.now() - cutAt < GRACE_MS;
    const view = (await world.read(run))!;
    if (!isInTime && view.status === 'cancelled') {
      reply.cut();
      return world.model.end(run, 'cancelled');
    }
    world.addClient(reply, run, after);
  }
}
