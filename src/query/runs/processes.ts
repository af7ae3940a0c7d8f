import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Signal, SignalReceiver } from '../ports/other-processes.js';
import type { InputsResolved } from '../ports/input-store.js';
import type { LogSlice, RunRecord } from '../ports/run-store.js';
import { KeptAnswer } from '../contract/kept-answer.js';
import { Observation } from './observers.js';
import { restartsOf } from './run-handler.js';
import type { EndedRun, RunnerServices } from './runner-services.js';
import { type Scheduler, STORE_DEADLINE_MS } from './scheduler.js';
import { existingRun } from './run-view.js';

const CANCELLED = { status: 'cancelled' } as const;

/** The longest pause between two looks at a run that another process shall cancel: doubled each time, in milliseconds. */
const LOOK_MS = { least: 10, most: 250 };

/** How many runs that wait in this process are looked at when signals were missed. */
const LOOKED_AT = 100;

/** What this process and the others that share the store tell one another about runs. */
export class Processes implements SignalReceiver {
  /** Emits the id of a run of which there is news. Several callers may cancel the same run. */
  readonly #news = new EventEmitter().setMaxListeners(0);

  constructor(
    private readonly services: RunnerServices,
    private readonly scheduler: Scheduler,
  ) {}

  /**
   * Begins to listen to the other processes, and recovers the runs of those that are gone.
   *
   * @throws {TypeError} the handler declares something else than a number of restarts
   */
  async join(): Promise<void> {
    const { store, handler, options, settings, dispatcher } = this.services;
    const restarts = restartsOf(handler);
    await store.signals.listen(this);
    await store.open({
      restarts: () => restarts,
      maxRunningPerOwner: () => options.maxRunningPerOwner,
      endpoints: (_, event) => settings.webhooks.keysFor(event),
      wished: (runId, what) => this.receive({ type: what, runId }),
      lost: (runId) => this.scheduler.lose(runId),
      recovered: (runId, ended) => this.#hasNews(runId, ended),
      resolved: (resolved) => this.resolved(resolved),
      ready: () => this.scheduler.slots.ready(),
    });
    this.scheduler.slots.ready();
    if (settings.role !== 'api') await dispatcher.receive(this.scheduler.slots);
  }

  receive(signal: Signal, from = ''): void {
    if (signal.type === 'ready') return this.scheduler.slots.ready();
    const runner = this.scheduler.get(signal.runId);
    const { groups, store } = this.services;
    const group = groups.get(signal.runId);
    switch (signal.type) {
      case 'news':
        return this.#receiveNews(signal.runId, signal.slice);
      case 'started':
        if (runner?.isWaiting) this.scheduler.drop(runner);
        group?.report();
        return this.#receiveNews(signal.runId, signal.slice);
      case 'follow':
        return group?.followedBy(from, signal.offset);
      case 'leave':
        return group?.leftBy(from);
      case 'detach':
        return runner?.disconnects.ignore();
      case 'cancel':
        runner?.stop(CANCELLED);
        // The process that asks for it waits for the end, whether anybody follows the run or not.
        return void runner?.ended.then(() => store.signals.send({ type: 'news', runId: runner.id }));
    }
  }

  missed(): void {
    this.services.groups.catchUp();
    this.scheduler.slots.ready();
    for (const { id } of this.scheduler.idle.slice(0, LOOKED_AT)) void this.#look(id);
  }

  /**
   * Cancels a run, wherever it executes, and waits until it has ended or its handler should have stopped.
   *
   * @throws {QueryError} `not_found` · `unavailable`
   */
  async cancel(run: RunRecord): Promise<EndedRun> {
    const runner = this.scheduler.get(run.id);
    runner?.stop(CANCELLED);
    return (await runner?.ended) ?? this.#cancelElsewhere(run);
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
  async #cancelElsewhere(run: RunRecord): Promise<EndedRun> {
    const { store } = this.services;
    const { stopDeadlineMs } = this.services.options;
    const since = performance.now();
    let isAsked = false;
    let lookMs = LOOK_MS.least;
    for (let found = run; ; found = await existingRun(store, run.owner, run.id)) {
      const passedMs = performance.now() - since;
      // A handler that has not stopped in time does not hold up the end of its run: the end comes with the deadline.
      if (found.endedAt !== undefined)
        return { run: found, stopped: found === run || passedMs < stopDeadlineMs };
      if (passedMs > stopDeadlineMs + STORE_DEADLINE_MS) return { run: found, stopped: false };
      if (found.status === 'waiting' || found.status === 'input_required') {
        if (await this.#endWaiting(found)) continue;
      } else {
        if (!isAsked) await store.wish(run, 'cancel');
        isAsked = true;
        this.scheduler.get(run.id)?.stop(CANCELLED);
        store.signals.send({ type: 'cancel', runId: run.id });
      }
      await this.#newsWithin(run.id, lookMs);
      lookMs = Math.min(2 * lookMs, LOOK_MS.most);
    }
  }

  /** Requests of a run were resolved, or it was ended while it asked: tells observers and followers, and lets it go on. */
  resolved({ run, inputs, isReady, text }: Omit<InputsResolved, 'before'>): void {
    if (text !== undefined) this.scheduler.get(run.id)?.answered(inputs[0]!.seq!, text);
    this.#observationOf(run.id).closed({ run, inputs });
    this.#hasNews(run.id, run.end && run);
    if (isReady) this.scheduler.enqueued();
  }

  /** Ends a run that waits or asks. Returns false if another process has started it first. */
  async #endWaiting(run: RunRecord): Promise<boolean> {
    const finished = await this.services.store.end(run, CANCELLED, new KeptAnswer().value);
    if (!finished) return false;
    const { inputs = [], next } = finished;
    this.resolved({ run: finished.run, inputs, isReady: false });
    if (next) this.scheduler.enqueued(undefined, next);
    return true;
  }

  /** The log of a run has news that no runner of this process has made. `ended` is the run, if it has ended. */
  #hasNews(runId: string, ended: RunRecord | undefined): void {
    if (ended) this.#observationOf(runId).ended(ended);
    this.services.store.signals.send({ type: 'news', runId });
    this.#receiveNews(runId);
  }

  #observationOf(runId: string): Observation {
    return this.scheduler.get(runId)?.observation ?? new Observation(this.services.observers);
  }

  /** Waits for news of a run, but not longer: a signal may be lost. */
  async #newsWithin(runId: string, ms: number): Promise<void> {
    const news = new AbortController();
    const receive = () => news.abort();
    this.#news.once(runId, receive);
    await delay(ms, undefined, news).catch(() => undefined);
    this.#news.off(runId, receive);
  }

  #receiveNews(runId: string, slice?: LogSlice): void {
    const group = this.services.groups.get(runId);
    if (slice) group?.offer(slice);
    else group?.notify();
    if (this.#news.listenerCount(runId) > 0) this.#news.emit(runId);
    void this.#look(runId);
  }

  /** Drops a run that waited or asked in this process, if another process has started or ended it. */
  async #look(runId: string): Promise<void> {
    const runner = this.scheduler.get(runId);
    if (!runner?.isWaiting && !runner?.isAsking) return;
    const found = await Promise.resolve(this.services.store.find(runner.owner, runId)).catch(() => undefined);
    if (!found) return;
    if (runner.isWaiting && found.status !== 'waiting') this.scheduler.drop(runner);
    // The questions of its handler are in the store. An earlier attempt waits for the answers of a later one in vain.
    if (runner.isAsking && (found.end || found.attempt !== runner.attempt))
      this.scheduler.lose(runId, found.end);
    // All is answered. No other process may take a run whose handler waits here.
    else if (runner.isAsking && found.status === 'waiting') this.scheduler.slots.ready();
  }
}
