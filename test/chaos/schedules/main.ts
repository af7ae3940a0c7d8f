import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import pg from 'pg';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { commandArbitraries } from './commands/all.js';
import { Figures } from './figures.js';
import { Host, type StoreAddress } from './host.js';
import { Model } from './model.js';
import { bringToRest } from './rest.js';
import { isDurable, type Settings, settingsArbitrary, type StoreName } from './settings.js';
import { World } from './world.js';

/** What the program is asked to do. */
export interface Plan {
  store: StoreName;
  seed: number;
  schedules: number;
  /** No schedule begins after this time. */
  seconds: number;
  /** The most commands of a schedule. */
  commands: number;
  hasKills: boolean;
  /** Where a schedule that failed is found again: what the program has printed. */
  path?: string | undefined;
  replayPath?: string | undefined;
}

/** How long the shortest schedule that fails is searched. */
const SHRINKING_MS = 30_000;

type Commands = Iterable<fc.AsyncCommand<Model, World>>;

/** The process of the host, as long as no schedule kills it. */
export class HostProcess {
  #idle: Host | undefined;

  async take(): Promise<Host> {
    const host = this.#idle ?? (await Host.start());
    this.#idle = undefined;
    return host;
  }

  giveBack(host: Host): void {
    this.#idle = host;
  }

  async end(): Promise<void> {
    await this.#idle?.kill();
  }
}

/** Executes schedules on one store, one after another. */
export class Schedules {
  readonly figures = new Figures();
  #postgres: PostgresServer | undefined;
  #directory = '';
  #endsAt = Infinity;
  #hasFailed = false;
  #count = 0;

  /**
   * @param plan what to execute
   * @param hosts the process of the host; schedules on other stores use it too
   */
  constructor(
    private readonly plan: Plan,
    private readonly hosts: HostProcess,
  ) {}

  /** Returns a report of the first failure, with the shortest schedule that fails; undefined if there is none. */
  async execute(): Promise<string | undefined> {
    const { plan } = this;
    this.#directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-schedules-'));
    try {
      if (plan.store === 'postgres') this.#postgres = await startPostgres(['fsync = off']);
      this.#endsAt = Date.now() + plan.seconds * 1000;
      const commands = fc.commands(commandArbitraries(plan.hasKills), {
        maxCommands: plan.commands,
        size: 'max',
        ...(plan.replayPath !== undefined && { replayPath: plan.replayPath }),
      });
      const property = fc.asyncProperty(settingsArbitrary, commands, (settings, steps) =>
        this.#run(settings, steps),
      );
      const details = await fc.check(property, {
        seed: plan.seed,
        numRuns: plan.schedules,
        includeErrorInReport: true,
        ...(plan.path !== undefined && { path: plan.path }),
      });
      return details.failed ? fc.defaultReportMessage(details) : undefined;
    } finally {
      await this.#postgres?.close();
      await rm(this.#directory, { recursive: true });
    }
  }

  async #run(settings: Settings, commands: Commands): Promise<void> {
    // A schedule that is not executed does not fail.
    if (Date.now() > this.#endsAt) return;
    const number = ++this.#count;
    const spoolDirectory = await mkdtemp(join(this.#directory, 'spool-'));
    const host = await this.hosts.take();
    const model = new Model(settings, isDurable(this.plan.store));
    const store = this.#store(number);
    const world = new World(model, host, { settings, store, spoolDirectory, clockOffset: 0 }, this.figures);
    try {
      await world.host.tell('watchLeaks');
      await world.open();
      await fc.asyncModelRun(() => ({ model, real: world }), commands);
      await bringToRest(world);
      this.figures.schedules++;
      this.hosts.giveBack(world.host);
    } catch (error) {
      if (!this.#hasFailed) this.#endsAt = Date.now() + SHRINKING_MS;
      this.#hasFailed = true;
      await world.host.kill();
      throw error;
    } finally {
      world.end();
      await this.#drop(store);
    }
  }

  #store(number: number): StoreAddress {
    const { store: name } = this.plan;
    if (name === 'sqlite') return { name, url: join(this.#directory, `${number}.db`) };
    if (name === 'postgres') return { name, url: this.#postgres!.url, schema: `schedule_${number}` };
    return { name };
  }

  async #drop({ name, url, schema }: StoreAddress): Promise<void> {
    if (name !== 'postgres') return;
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    await admin.query(`drop schema if exists ${schema} cascade`);
    await admin.end();
  }
}
