import assert from 'node:assert/strict';
import pg from 'pg';
import { message } from '../../../../src/index.js';
import type { Client } from '../client.js';
import { Host } from '../host.js';
import type { Model, ModelRun, Submission } from '../model.js';
import { Allowed, observe } from '../observe.js';
import type { World } from '../world.js';
import { Command, OWNERS, SESSIONS } from './command.js';
import { addObserved, newSubmission } from './submit.js';

const HOUR_MS = 60 * 60_000;

/** The host is stopped in order, and started again on the same store. */
export class Restart extends Command {
  async execute(world: World): Promise<void> {
    world.figures.count('faults', 'restart');
    const clients = [...world.clients];
    await world.host.tell('close');
    for (const client of clients) await readRest(world, client);
    await world.open();
    await recover(world, new Set());
  }
}

/** Followers read the end of runs that the shutdown has ended; those of waiting runs are disconnected. */
async function readRest(world: World, client: Client): Promise<void> {
  const isKept = world.isDurable && client.run.status === 'waiting';
  await world.within('a follower is disconnected', client.finished());
  const text = client.texts.at(-1) ?? '';
  assert.equal(
    text.includes('"code":"interrupted"'),
    !isKept,
    `what a follower of ${client.run.id} reads at last`,
  );
  world.clients.delete(client);
}

/** The process of the host is killed while a handler emits and a query arrives, and another one uses its store. */
export class Kill extends Command {
  async execute(world: World): Promise<void> {
    world.figures.count('faults', 'kill');
    const { model } = world;
    const submission = newSubmission(world, this.pick(0, OWNERS), this.pick(1, SESSIONS), world.newText());
    const sent = world.post(submission, true).catch(() => undefined);
    const running = model.unfinished.filter(({ status }) => status === 'running');
    for (const run of running) emitUnsure(world, run);
    await new Promise((resolve) => setTimeout(resolve, this.choices[2]! % 8));
    await world.host.kill();
    await sent;
    for (const client of world.clients) client.cut();
    world.clients.clear();
    world.host = await Host.start();
    await world.host.tell('watchLeaks');
    await world.open();
    const retried = await retry(world, submission);
    await recover(world, new Set(retried ? [retried] : []));
  }
}

function emitUnsure(world: World, run: ModelRun): void {
  const texts = [world.newText(), world.newText()];
  run.unsureFrom ??= run.emitted.length;
  run.emitted.push(...texts);
  world.host.tell('emit', run.id, texts.map(message)).catch(() => undefined);
}

/** Sends a query of which it is not known whether it has arrived. */
async function retry(world: World, submission: Submission): Promise<ModelRun | undefined> {
  let reply = await world.post(submission, true);
  while (await isUnavailable(reply)) reply = await world.post(submission, true);
  if (reply.status !== 202) {
    assert([409, 429, 503].includes(reply.status), `${reply.status} for a query`);
    return undefined;
  }
  const { id } = await reply.json<{ id: string }>();
  return addObserved(world, submission, id, true, new Allowed());
}

async function isUnavailable(reply: Awaited<ReturnType<World['post']>>): Promise<boolean> {
  return reply.status === 503 && (await reply.json<{ code: string }>()).code === 'unavailable';
}

/** After a restart: runs that were executing have been interrupted, and waiting ones execute. */
async function recover(world: World, retried: Set<ModelRun>): Promise<void> {
  const { model } = world;
  const allowed = new Allowed();
  for (const run of model.overdue) model.stopHandler(run);
  if (!world.isDurable) {
    for (const run of [...model.runs.values()]) if (!retried.has(run)) model.forget(run);
    model.forgetSessions(retried);
  }
  for (const run of model.unfinished) {
    if (run.status === 'running') allowed.mustEnd(run, 'interrupted');
    if (run.status === 'waiting' && isInterrupting(model, run, retried)) allowed.end(run, 'cancelled');
    run.isExecuting = false;
    // A run that is sent again was admitted by this process, unless the process that was killed had admitted it.
    run.isKnownToHost = retried.has(run) && run.isKnownToHost;
    if (run.status === 'waiting' && !run.isDetached) world.addClient(await world.follow(run), run, 0);
  }
  await observe(world, allowed);
}

/** Whether a query that was sent again may have cancelled a run. */
function isInterrupting({ settings }: Model, { owner, session }: ModelRun, retried: Set<ModelRun>): boolean {
  if (settings.sessionPolicy !== 'interrupt' || session === undefined) return false;
  return [...retried].some((run) => run.owner === owner && run.session === session);
}

/** Time passes: what has ended is no longer kept. */
export class PassTime extends Command {
  async execute(world: World): Promise<void> {
    world.figures.count('faults', 'time passes');
    const time = this.pick(0, [2.3 * HOUR_MS, 30 * HOUR_MS]);
    await world.host.tell('advanceClock', time);
    world.model.passTime(time);
  }
}

const FAULTS = ['down', 'answer lost', 'connections cut'] as const;

/** The database fails while handlers emit and finish, a run is cancelled, or a query arrives. */
export class DatabaseFault extends Command {
  override check(model: Readonly<Model>): boolean {
    return model.isDurable;
  }

  async execute(world: World): Promise<void> {
    const { model, host, options } = world;
    const faults = options.store.name === 'postgres' ? FAULTS : FAULTS.slice(0, 2);
    const fault = this.pick(0, faults);
    world.figures.count('faults', `database: ${fault}`);
    const allowed = new Allowed();
    const submission = newSubmission(world, this.pick(1, OWNERS), this.pick(2, SESSIONS), world.newText());
    const running = model.unfinished.filter(({ status }) => status === 'running');
    if (fault === 'down') await host.tell('setDown', true);
    if (fault === 'answer lost') await host.tell('loseAnswers', 1 + (this.choices[3]! % 3));
    const cut = fault === 'connections cut' ? cutConnections(options.store.url!) : undefined;
    const sent = this.pick(4, [true, false]) ? world.post(submission, true) : undefined;
    for (const [index, run] of running.entries())
      await this.#tell(world, run, this.choices[5]! + index, allowed);
    const reply = await sent;
    await cut;
    if (reply) assert([202, 409, 429, 503].includes(reply.status), `${reply.status} during a fault`);
    if (fault === 'down') await host.tell('setDown', false);
    await host.tell('loseAnswers', 0);
    await world.until('the store is available', async () =>
      (await host.tell('isAvailable')) ? undefined : fault,
    );
    const run = reply && (await retry(world, submission));
    if (run) {
      const queue = model.session(run.owner, run.session ?? '')?.queue ?? [];
      if (model.settings.sessionPolicy === 'interrupt')
        for (const other of queue) allowed.end(other, 'cancelled');
    }
    await observe(world, allowed);
  }

  async #tell(world: World, run: ModelRun, choice: number, allowed: Allowed): Promise<void> {
    const text = world.newText();
    run.emitted.push(text);
    await world.host.tell('emit', run.id, [message(text)]);
    if (choice % 3 > 0) return;
    allowed.mustEnd(run, 'completed');
    await world.host.tell('finish', run.id);
    if (run.isDeaf) world.model.stopHandler(run);
  }
}

/** Ends the connections of the store, as a network or an administrator may. */
async function cutConnections(url: string): Promise<void> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'nest-agent-query'",
  );
  await admin.end();
}
