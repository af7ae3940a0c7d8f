import type { Message, StreamResponse, TaskStatus } from '@a2a-js/sdk';
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '@nestjs/common';
import { type Envelope, log, type Query, type QueryContext } from 'nest-agent-query';
import { HandedOver, textForLog } from 'nest-agent-query/agents';
import { askHere, failures, patientRetries, repeated, traceHeaders } from 'nest-agent-query/agents/remote';
import { AgentQueryError } from 'nest-agent-query-client';
import { isTransient } from 'nest-agent-query-client/streams';
import type { A2aAgent, CallOptions, Events } from './a2a-agent.js';
import { deliver } from './deliver.js';
import { failureOf, hasNoMethod } from './failures.js';
import { answerParts, pauseKey, pauseOf } from './pauses.js';
import { contextIdOf, queryMessage } from './query-message.js';
import { type Position, TaskReader } from './task-reader.js';

/** How often the position in the task is stored while envelopes come. */
const CHECKPOINT_MS = 500;

/** How long the agent is asked to cancel a task. */
const CANCEL_MS = 30_000;

/** How long the task of a message is looked for that the agent may have just begun. */
const FIND_MS = 3_000;

/** How long a task is left alone at most that cannot be followed. */
const POLL_MS = 2_000;

/** What is stored before the message is sent: the agent may have executed it. */
interface Sending {
  isSent: true;
}

/** An attempt of one run: sends its query, or follows the task that an earlier attempt has begun. */
export class TaskRun {
  #reader = new TaskReader();
  readonly #options: CallOptions;
  /** Whether the agent may have the query. */
  #isSent = false;
  /** The pause whose answer this attempt has sent: its status may be told once more. */
  #answered: string | undefined;
  /** Whether the next event is the task with all that it has. */
  #isWhole = false;
  #storedAt = 0;
  /** The tries to follow the task since it has told something new. */
  readonly #retries = patientRetries();

  constructor(
    private readonly agent: A2aAgent,
    private readonly query: Query,
    private readonly context: QueryContext,
    private readonly logger: Logger,
  ) {
    this.#options = { headers: traceHeaders(context.trace), signal: context.signal };
  }

  /** The envelopes of the answer, each once. */
  async *envelopes(): AsyncGenerator<Envelope> {
    let events: Events | undefined;
    try {
      events = await this.#begin();
      while (!this.#reader.hasEnded) {
        const event = await this.#next(events);
        if (!event) {
          events = await this.#follow();
          continue;
        }
        yield* this.#take(event);
        const { pause } = this.#reader;
        if (!pause || pauseKey(pause) === this.#answered) continue;
        await events.return();
        events = yield* this.#ask(pause);
      }
    } catch (error) {
      this.context.signal.throwIfAborted();
      throw this.#failure(error);
    } finally {
      await events?.return().catch(() => undefined);
      if (this.context.signal.aborted) await this.#cancel();
    }
  }

  async #begin(): Promise<Events> {
    const { signal, resumed } = this.context;
    const giveUpAt = performance.now() + this.agent.settings.patienceMs;
    const message = await queryMessage(this.query, this.context);
    await repeated(() => this.agent.connect(this.#options), {
      signal,
      failureOf: failures.notSubmitted,
      giveUpAt,
    });
    const state = resumed?.state as Position | Sending | undefined;
    if (state) {
      this.#isSent = true;
      if ('task' in state) this.#reader = new TaskReader(state);
      else if (!(await this.#find())) throw failures.mayBeExecuted();
      return this.#follow();
    }
    await this.context.checkpoint({ isSent: true } satisfies Sending);
    this.#isSent = true;
    return repeated(() => this.#submit(message), {
      signal,
      failureOf: failures.notSubmitted,
      giveUpAt,
    });
  }

  /** Sends the query once. @throws what is no `AgentQueryError`, where it must not be sent again */
  async #submit(message: Message): Promise<Events> {
    try {
      return await this.agent.send(message, this.#options);
    } catch (error) {
      this.context.signal.throwIfAborted();
      if (!(error instanceof AgentQueryError)) throw error;
      if (failures.isFinal(error) || !failures.mayHaveBegun(error)) throw error;
      if (await this.#find()) return this.#follow();
      throw error.status === undefined ? failures.cutForGood(error) : failures.notSubmitted(error);
    }
  }

  /** Looks for the task of the query. Returns whether there is one; the reader then has it. */
  async #find(options = this.#options): Promise<boolean> {
    const { signal } = options;
    const { runId } = this.context;
    const find = () => this.agent.find(contextIdOf(this.context), runId, options);
    const giveUpAt = performance.now() + this.agent.settings.patienceMs;
    const until = performance.now() + FIND_MS;
    let isListed = true;
    for (let ms = 100; ; ms *= 2) {
      const task = await repeated(find, { signal, failureOf: failures.notSubmitted, giveUpAt }).catch(
        (error: unknown) => {
          signal.throwIfAborted();
          // Whether the agent has the task is not known.
          isListed = !hasNoMethod(error);
          this.logger.warn(
            `Run ${runId}: the remote agent does not tell its tasks: ${textForLog(this.#failure(error).message)}`,
          );
        },
      );
      if (task) this.#reader = new TaskReader(begunTask(task.id));
      if (task || !isListed || performance.now() + ms > until) return task !== undefined;
      await wait(ms, undefined, { signal });
    }
  }

  /** Follows the task, for as long as this run may last. */
  #follow(): Promise<Events> {
    const { signal } = this.context;
    this.#isWhole = true;
    const follow = () => this.agent.follow(this.#reader.task!, this.#options);
    return repeated(follow, { signal, failureOf: failures.notResumed, retries: this.#retries });
  }

  /** The next event; undefined where the response has ended or was cut, and the task goes on. */
  async #next(events: Events): Promise<StreamResponse | undefined> {
    const { signal, runId } = this.context;
    const { task } = this.#reader;
    try {
      const { value } = await events.next();
      if (value) return value;
      if (task === undefined) throw failures.cutForGood(undefined);
      await wait(Math.min(100 * 2 ** this.#retries.attempt++, POLL_MS), undefined, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error)) throw error;
      if (task === undefined) throw failures.cutForGood(error);
      this.logger.warn(`Run ${runId}: the connection to the remote agent was cut, and is resumed.`);
      await this.#retries.wait(error, 0, signal);
    }
    return undefined;
  }

  async *#take(event: StreamResponse): AsyncGenerator<Envelope> {
    const isFirst = this.#reader.task === undefined;
    const envelopes = this.#reader.take(event, this.#isWhole);
    this.#isWhole = false;
    // Nothing of it is passed on yet.
    if (isFirst && this.#reader.task !== undefined)
      await this.context.checkpoint(begunTask(this.#reader.task));
    for (const envelope of envelopes) {
      this.#retries.attempt = 0;
      yield envelope;
    }
    if (performance.now() - this.#storedAt >= CHECKPOINT_MS) await this.#store();
  }

  async #store(): Promise<void> {
    this.#storedAt = performance.now();
    const { position } = this.#reader;
    if (position) await this.context.checkpoint(position);
  }

  /** Asks here what the task asks, and answers it there. Returns what goes on after that. */
  async *#ask(status: TaskStatus): AsyncGenerator<Envelope, Events> {
    const pause = pauseOf(status);
    const { requests } = pause;
    const answers = await askHere(this.context, { requests }, this.#reader.position);
    const parts = answerParts(pause, answers);
    this.#retries.attempt = 0;
    if (!parts) return this.#follow();
    const { key } = pause;
    const { runId } = this.context;
    const answer = { agent: this.agent, options: this.#options, runId, task: this.#reader.task!, key };
    const mayBeSent = this.#reader.answering === key;
    this.#reader.answering = key;
    await this.#store();
    const delivered = await deliver(answer, parts, mayBeSent);
    this.#answered = key;
    if (typeof delivered === 'object') return delivered;
    if (delivered === 'late')
      yield log('The remote agent had its answer already, and goes on with that one.');
    return this.#follow();
  }

  /** Cancels the task, unless the next attempt goes on with it. */
  async #cancel(): Promise<void> {
    if (!this.#isSent || this.#reader.hasEnded || this.context.signal.reason instanceof HandedOver) return;
    try {
      const finding = { ...this.#options, signal: AbortSignal.timeout(FIND_MS) };
      if (this.#reader.task === undefined && !(await this.#find(finding))) return;
      const id = this.#reader.task!;
      const signal = AbortSignal.timeout(CANCEL_MS);
      const options = { ...this.#options, signal };
      await repeated(() => this.agent.cancel(id, options), { signal, failureOf: failures.notSubmitted });
    } catch (error) {
      // A task that has ended needs no cancelling.
      this.logger.debug(
        `Run ${this.context.runId}: the task was not cancelled: ${textForLog(this.#failure(error).message)}`,
      );
    }
  }

  #failure(error: unknown): Error {
    const failure = failureOf(error, Object.values(this.agent.settings.headers));
    return failure instanceof Error ? failure : new Error(String(failure));
  }
}

/** The position in a task of which nothing was passed on. */
function begunTask(task: string): Position {
  return { task, artifacts: {}, hasResult: false };
}
