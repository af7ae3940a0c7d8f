import { setTimeout as delay } from 'node:timers/promises';
import { runNotFound } from '../contract/refusals.js';
import type { Dispatcher, Signal, SignalReceiver } from '../ports/other-processes.js';
import type { RunRecord } from '../ports/run-store.js';
import { KeptAnswer } from './kept-answer.js';
import { Observation } from './observation.js';
import { restartsOf } from './run-handler.js';
import type { RunnerServices } from './runner-services.js';
import { type Scheduler, STORE_DEADLINE_MS } from './scheduler.js';

/** The pause between two looks at a run that another process shall cancel: doubled each time, in milliseconds. */
const LOOK_MS = { least: 10, most: 250 };

/** How many runs that wait in this process are looked at when signals were missed. */
const LOOKED_AT = 100;

/** What this process and the others that share the store tell one another about runs. */
export class Processes implements SignalReceiver {
  constructor(
    private readonly services: RunnerServices,
    private readonly dispatcher: Dispatcher,
    private readonly scheduler: Scheduler,
  ) {}

  /**
   * Begins to listen to the other processes, and recovers the runs of those that are gone.
   *
   * @throws {TypeError} the handler declares something else than a number of restarts
   */
  async join(executes: boolean): Promise<void> {
    const { store, handler, options, observers } = this.services;
    const restarts = restartsOf(handler);
    await store.signals.listen(this);
    await store.open({
      restarts: () => restarts,
      maxRunningPerOwner: () => options.maxRunningPerOwner,
      asked: (runId, what) => this.receive({ type: what, runId }),
      lost: (runId) => this.scheduler.lose(runId),
      recovered: (runId, ended) => {
        if (ended) new Observation(observers).ended(ended);
        this.#hasNews(runId);
      },
      ready: () => this.scheduler.ready(),
    });
    this.scheduler.ready();
    if (executes) await this.dispatcher.receive(this.scheduler);
  }

  receive(signal: Signal, from = ''): void {
    switch (signal.type) {
      case 'ready':
        return this.scheduler.ready();
      case 'news':
        return this.#receiveNews(signal.runId);
      case 'started':
        return this.#startedElsewhere(signal.runId);
      case 'follow':
        return this.services.groups.get(signal.runId)?.followedBy(from, signal.offset);
      case 'leave':
        return this.services.groups.get(signal.runId)?.leftBy(from);
      case 'detach':
        return this.scheduler.get(signal.runId)?.disconnects.ignore();
      case 'cancel':
        return this.scheduler.get(signal.runId)?.stop({ status: 'cancelled' });
    }
  }

  missed(): void {
    this.services.groups.catchUp();
    this.scheduler.ready();
    for (const { id } of this.scheduler.waiting.slice(0, LOOKED_AT)) void this.#look(id);
  }

  /**
   * Cancels a run, wherever it executes, and waits until it has ended or its handler should have stopped.
   *
   * @throws {QueryError} `not_found` · `unavailable`
   */
  async cancel(run: RunRecord): Promise<{ run: RunRecord; stopped: boolean }> {
    const runner = this.scheduler.get(run.id);
    runner?.stop({ status: 'cancelled' });
    const ending = await runner?.ended;
    if (ending?.run) return { run: ending.run, stopped: ending.stopped };
    return this.#cancelElsewhere(run);
  }

  /** Cancels runs of one session. The first one last, so that no other run is promoted and executed before it is cancelled. */
  async cancelAll([first, ...waiting]: RunRecord[]): Promise<void> {
    await Promise.all(waiting.map((run) => this.cancel(run)));
    if (first) await this.cancel(first);
  }

  /**
   * Cancels a run that waits, or that another process executes. That process ends it in any case: it is asked in the database,
   * and a signal only makes it look sooner.
   */
  async #cancelElsewhere(run: RunRecord): Promise<{ run: RunRecord; stopped: boolean }> {
    const { store, options } = this.services;
    const { stopDeadlineMs } = options;
    const since = performance.now();
    let isAsked = false;
    let lookMs = LOOK_MS.least;
    for (let found = run; ; found = await this.#find(run)) {
      const passedMs = performance.now() - since;
      // A handler that has not stopped in time does not hold up the end of its run: the end comes with the deadline.
      if (found.endedAt !== undefined)
        return { run: found, stopped: found === run || passedMs < stopDeadlineMs };
      if (passedMs > stopDeadlineMs + STORE_DEADLINE_MS) return { run: found, stopped: false };
      if (found.status === 'waiting') {
        await this.#endWaiting(found);
        continue;
      }
      if (!isAsked) await store.request(run, 'cancel');
      isAsked = true;
      this.scheduler.get(run.id)?.stop({ status: 'cancelled' });
      store.signals.send({ type: 'cancel', runId: run.id });
      await delay(lookMs);
      lookMs = Math.min(2 * lookMs, LOOK_MS.most);
    }
  }

  /** Ends a run that waits. Another process may start it first. */
  async #endWaiting(run: RunRecord): Promise<void> {
    const finished = await this.services.store.end(run, { status: 'cancelled' }, new KeptAnswer().value);
    if (!finished) return;
    new Observation(this.services.observers).ended(finished.run);
    this.#hasNews(run.id);
    if (finished.next) this.scheduler.enqueued();
  }

  /** The log of a run has news that no runner of this process has made. */
  #hasNews(runId: string): void {
    this.services.store.signals.send({ type: 'news', runId });
    this.#receiveNews(runId);
  }

  #receiveNews(runId: string): void {
    this.services.groups.get(runId)?.notify();
    void this.#look(runId);
  }

  #startedElsewhere(runId: string): void {
    const runner = this.scheduler.get(runId);
    if (runner?.isWaiting) this.scheduler.drop(runner);
    const group = this.services.groups.get(runId);
    group?.report();
    group?.notify();
  }

  /** Drops a run that waited in this process, if another process has started or ended it. */
  async #look(runId: string): Promise<void> {
    const runner = this.scheduler.get(runId);
    if (!runner?.isWaiting) return;
    const found = await Promise.resolve(this.services.store.find(runner.owner, runId)).catch(() => undefined);
    if (found && found.status !== 'waiting' && runner.isWaiting) this.scheduler.drop(runner);
  }

  async #find({ owner, id }: RunRecord): Promise<RunRecord> {
    const found = await this.services.store.find(owner, id);
    if (!found) throw runNotFound();
    return found;
  }
}
