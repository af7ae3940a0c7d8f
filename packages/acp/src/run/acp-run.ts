import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '@nestjs/common';
import { type Envelope, log, type Query, type QueryContext } from 'nest-agent-query';
import { type DistinctCalls, type Folders, keepSteps } from 'nest-agent-query-adapters';
import { HandedOver, textForLog } from 'nest-agent-query/agents';
import type { AcpSettings } from '../acp-options.js';
import { PeerClosed } from '../process/peer.js';
import type { Pool } from '../process/pool.js';
import { promptOf, Translation } from '../translate/index.js';
import { type AcpState, type RecordedAnswer, stateOf } from './acp-state.js';
import { notResumed, startFailure, withEnd } from './failures.js';
import { LivingAgent } from './living-agent.js';
import { OpenCalls } from './open-calls.js';
import { type Opening, SessionOpening } from './opening.js';
import { askedAgain, Permissions } from './permissions.js';
import { rejectionPrompt, resumePrompt } from './resume-prompt.js';
import type { Turn } from './turn.js';
import { poolKey, Workplace } from './workplace.js';

/** Permissions that are asked for within so many milliseconds are one question. */
const TOGETHER_MS = 50;
/** How many questions one pause has at most. */
const QUESTIONS = 64;
/** How often the state is stored while the agent answers. */
const CHECKPOINT_MS = 1_000;
/** How often an agent is told at most, in one run, what was rejected. */
const TELLS = 3;
/** What all runs of a handler have in common. */
export interface RunServices {
  settings: AcpSettings;
  folders: Folders;
  pool: Pool<LivingAgent>;
  logger: Logger;
}

/** An attempt of one run. */
export class AcpRun {
  readonly #calls: OpenCalls;
  #state: AcpState;
  #living: LivingAgent | undefined;
  #stopping: Promise<void> | undefined;
  #storedAt = performance.now();
  #workplace: Workplace | undefined;

  constructor(
    private readonly services: RunServices,
    private readonly query: Query,
    private readonly context: QueryContext,
    private readonly distinct: DistinctCalls,
  ) {
    this.#state = stateOf(context) ?? { agentSession: '', keys: [], waiting: [], open: [] };
    this.#calls = new OpenCalls(this.#state.open);
  }

  /** The answer. Ends when the agent and what it has started are gone, or are kept for the next turn. */
  async *envelopes(): AsyncGenerator<Envelope> {
    const { settings, folders, pool } = this.services;
    const { signal, session, owner, runId } = this.context;
    const recorded = await this.#recorded();
    const key = poolKey(owner, session?.id ?? `run ${runId}`);
    if (!pool.isFree) yield log('Waiting until another query has ended');
    const slot = await pool.take(key, signal);
    if (!slot) return;
    this.#living = slot.kept;
    const stop = () => void this.#stop();
    signal.addEventListener('abort', stop, { once: true });
    let isClean = false;
    try {
      this.#workplace = await Workplace.of(settings, folders, this.query, this.context);
      // One generator hands over each envelope, and all others whole batches: each `yield` costs as much as the parsing of a delta.
      for await (const batch of this.#answer(this.#workplace, recorded))
        for (const envelope of batch) yield this.distinct.shown(envelope);
      isClean = session !== undefined && settings.keepMs > 0;
    } catch (error) {
      // A run that was stopped ends here: nobody waits for a failure.
      if (!signal.aborted) throw startFailure(error);
    } finally {
      signal.removeEventListener('abort', stop);
      await this.#leave(key, isClean && !signal.aborted);
    }
  }

  /** The answers to what the lost process of an earlier attempt has asked. */
  async #recorded(): Promise<RecordedAnswer[]> {
    const { agentSession, waiting } = this.#state;
    if (agentSession === '') return [];
    if (this.services.settings.resumeText === null) throw notResumed();
    if (waiting.length === 0) return [];
    const answers = await this.context.ask(askedAgain(waiting), { checkpoint: this.#state });
    return waiting.map((question, index) => ({ question, answer: answers[index]! }));
  }

  /** Prompts the agent until there is nothing more to say, and again where its process was lost while it asked. */
  async *#answer(workplace: Workplace, earlier: RecordedAnswer[]): AsyncGenerator<Envelope[]> {
    const { settings } = this.services;
    let isLost = this.#state.agentSession !== '';
    let recorded = earlier;
    for (let losses = 0; ; losses++) {
      yield this.#calls.lost();
      const opening = await this.#open(workplace, isLost);
      yield opening.notes;
      const prompt = await this.#prompt(workplace, opening, isLost, recorded);
      yield prompt.notes;
      const lost = yield* this.#converse(workplace, prompt.blocks, recorded);
      if (!lost) return;
      if (settings.resumeText === null) throw notResumed();
      if (losses >= settings.restarts) throw new PeerClosed('The agent has ended again while it asked.');
      await this.#living!.stop();
      this.#living = undefined;
      isLost = true;
      recorded = lost;
    }
  }

  /** An agent that is kept goes on with its session, if it has seen the same turns. */
  async #open(workplace: Workplace, isLost: boolean): Promise<Opening> {
    const { settings } = this.services;
    const { signal } = this.context;
    const opening = new SessionOpening(this.context, workplace);
    const kept = this.#living;
    if (kept) {
      const known = isLost ? undefined : await opening.remembered();
      if (known && known.run === kept.lastRun && known.id === kept.agent.session)
        return { missing: known.missing, isKnown: true, notes: [] };
      await kept.stop();
    }
    const place = { home: workplace.home, cwd: workplace.cwd };
    const living = await LivingAgent.start(settings, place, (line) => this.#log(line), signal);
    this.#living = living;
    // The run may have been stopped while the agent started.
    if (signal.aborted) await living.stop();
    signal.throwIfAborted();
    return opening.open(living.agent, isLost ? this.#state.agentSession : undefined);
  }

  async #prompt(
    workplace: Workplace,
    { missing, isKnown }: Opening,
    isLost: boolean,
    recorded: RecordedAnswer[],
  ): Promise<{ blocks: object[]; notes: Envelope[] }> {
    const { files, resumeText } = this.services.settings;
    const resumed = isLost ? [{ type: 'text', text: resumePrompt(resumeText!, recorded) }] : [];
    if (isLost && isKnown) return { blocks: resumed, notes: [] };
    const { capabilities } = this.#living!.agent;
    const { keepFile } = workplace;
    const settings = { capabilities, files, history: missing, keepFile };
    const { blocks, notes } = await promptOf(this.query, this.context, settings);
    return { blocks: [...blocks, ...resumed], notes };
  }

  /** Prompts, and prompts again where the agent is told what was rejected. Returns the answers that it could not be given. */
  async *#converse(
    workplace: Workplace,
    first: object[],
    recorded: RecordedAnswer[],
  ): AsyncGenerator<Envelope[], RecordedAnswer[] | undefined> {
    const { settings } = this.services;
    const { agent } = this.#living!;
    this.#state.agentSession = agent.session!;
    this.#state.waiting = [];
    await workplace.keep(agent.session!);
    this.#living!.lastRun = this.context.runId;
    const permissions = new Permissions(settings, this.context, this.#state, recorded);
    let blocks = first;
    for (let tells = 0; ; tells++) {
      if (settings.restarts > 0) await this.#store();
      const lost = yield* this.#turn(blocks, permissions);
      if (lost) return lost;
      const { rejected } = permissions;
      if (settings.onReject !== 'tell' || rejected.length === 0 || tells === TELLS) return undefined;
      permissions.rejected = [];
      permissions.forget();
      blocks = [{ type: 'text', text: rejectionPrompt(rejected) }];
    }
  }

  async *#turn(
    blocks: object[],
    permissions: Permissions,
  ): AsyncGenerator<Envelope[], RecordedAnswer[] | undefined> {
    const { signal } = this.context;
    const { agent } = this.#living!;
    const { remarks } = this.services.settings;
    const translation = new Translation({ sessionId: agent.session!, cwd: this.#workplace!.cwd, remarks });
    const { turn, answer } = agent.prompt(blocks, translation);
    for (;;) {
      if (!turn.hasNews) await turn.news();
      yield this.#noted(turn.take());
      signal.throwIfAborted();
      if (turn.isAsking) {
        const lost = yield* this.#asked(turn, permissions);
        if (lost.length > 0) return lost;
      } else if (turn.isOver && !turn.hasEnvelopes) break;
      await this.#storeInTime();
    }
    yield* this.#ended(translation, answer);
    return undefined;
  }

  async *#asked(turn: Turn, permissions: Permissions): AsyncGenerator<Envelope[], RecordedAnswer[]> {
    const { signal } = this.context;
    await wait(TOGETHER_MS, undefined, { signal });
    // What was said before a question comes before it.
    yield this.#noted(turn.take());
    this.#state.open = this.#calls.ids;
    return permissions.answer(turn, turn.takeAsked(QUESTIONS));
  }

  async *#ended(translation: Translation, answer: Promise<unknown>): AsyncGenerator<Envelope[]> {
    let response: unknown;
    try {
      response = await answer;
    } catch (error) {
      const failed = translation.failed(await withEnd(error, this.#living!.process));
      yield this.#noted(failed.envelopes);
      throw failed.error;
    }
    const { envelopes, end } = translation.ended(response);
    yield this.#noted(envelopes);
    if (end !== 'completed') throw end;
  }

  /** What it emits is not void after a restart. */
  async #storeInTime(): Promise<void> {
    const isDue = performance.now() - this.#storedAt >= CHECKPOINT_MS;
    if (isDue && this.services.settings.restarts > 0) await this.#store();
  }

  async #store(): Promise<void> {
    this.#state.open = this.#calls.ids;
    await keepSteps(this.context, this.#state);
    this.#storedAt = performance.now();
  }

  /** Lets the agent write down its turn, and ends it. */
  #stop(): Promise<void> {
    return (this.#stopping ??= this.#living?.cancel() ?? Promise.resolve());
  }

  async #leave(key: string, isKept: boolean): Promise<void> {
    const { pool } = this.services;
    try {
      if (isKept) await pool.keep(key, this.#living!);
      else await (this.#living ? this.#stop() : undefined);
    } finally {
      if (!isKept) pool.release();
      // The next attempt needs it.
      if (!(this.context.signal.reason instanceof HandedOver)) await this.#workplace?.leave();
    }
  }

  #noted(envelopes: Envelope[]): Envelope[] {
    for (const envelope of envelopes) this.#calls.note(envelope);
    return envelopes;
  }

  #log(line: string): void {
    this.services.logger.log(`Run ${this.context.runId}: ${textForLog(line)}`);
  }
}
