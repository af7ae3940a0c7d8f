import type {
  FieldError,
  InputAnswer,
  InputList,
  InputView,
  ResolvedInput,
  RunInputs,
  RunView,
} from 'nest-agent-query-client';
import { inputNotFound, invalidAnswer, runNotFound } from '../contract/refusals.js';
import { shownOf } from '../ports/input-rules.js';
import type { InputStore } from '../ports/input-store.js';
import type { RunRecord, StoredInput } from '../ports/run-store.js';
import { ownerOfModule, storedOwner } from '../sharing/owners.js';
import type { Processes } from './processes.js';
import { faultsOfAnswer } from './one/questions.js';
import type { RunnerServices } from './runner-services.js';
import { checkCursor } from './following.js';
import { LIST_OPTIONS, listPageOf, nextOf, type ListOptions } from './lists.js';
import { viewOf } from './run-view.js';
import { refuseUnknown } from '../contract/unknown-members.js';

/** A run whose requests a caller may see. */
interface AskingRun {
  run: RunRecord;
  isOwner: boolean;
  /** Those that the caller may answer. */
  inputs: StoredInput[];
}

/**
 * What callers do with the requests of runs, as `AgentService.inputs`: they see and answer them.
 *
 * @example
 * const { inputs } = await agent.inputs.open(owner);
 * await agent.inputs.answer(owner, inputs[0].runId, [{ id: inputs[0].id, outcome: 'declined' }]);
 */
export class Inputs {
  constructor(
    private readonly services: RunnerServices,
    private readonly processes: Processes,
  ) {}

  /**
   * Returns what a run has asked, in this order, with the answers. A caller who is not the owner sees what the option `canAnswer`
   * lets it answer.
   *
   * @throws {QueryError} `not_found` · `unavailable`
   */
  async of(owner: string, runId: string): Promise<RunInputs> {
    const { inputs } = await this.#find(owner, runId);
    return { inputs: inputs.map(inputViewOf) };
  }

  /**
   * Lists the open requests of all runs of an owner, newest first, in pages.
   *
   * @param options which page. Default: the newest 50
   * @throws {QueryError} `invalid_query`: `after` is not the `next` of a page · `unavailable` · {TypeError} an option is unknown
   */
  async open(owner: string, options: ListOptions = {}): Promise<InputList> {
    refuseUnknown('AgentService.inputs.open', options, LIST_OPTIONS);
    const page = listPageOf(options);
    const stored = storedOwner(this.services.settings.name, owner);
    const { inputs = [], next } = (await this.#store?.open(stored, page)) ?? {};
    return { inputs: inputs.map(inputViewOf), next: nextOf(next) };
  }

  /** Returns how many requests are open, of all owners that share the store; undefined if runs cannot ask. */
  async count(): Promise<number | undefined> {
    return this.#store?.countOpen();
  }

  /**
   * Answers requests of a run that asks, in one step: all of these answers count, or none. The same answer again is accepted. As
   * soon as no request is open, the run goes on.
   *
   * @param owner who answers: the owner of the run, or whoever the option `canAnswer` admits
   * @param answers at most 64, each to another request
   * @param options `detached`: the run continues from now on when nobody follows it. Default true. `after`: the caller follows
   * the run with this cursor afterwards. Default: none
   * @returns the run; and the number of the envelope before that of the answers, undefined if the caller does not own the run
   * @throws {QueryError} `not_found` · `invalid_answer` · `input_resolved`: there is another answer · `input_expired` ·
   * `run_ended` · `invalid_query` and `cursor_expired`: see `AgentService.follow` · `unavailable` · {TypeError} an option is unknown
   */
  async answer(
    owner: string,
    runId: string,
    answers: InputAnswer[],
    options: { detached?: boolean; after?: number | undefined } = {},
  ): Promise<{ run: RunView; before: number | undefined }> {
    refuseUnknown('AgentService.inputs.answer', options, { detached: true, after: true });
    const { detached = true, after } = options;
    const { run, isOwner, inputs } = await this.#find(owner, runId);
    const check = this.services.schemas.of(owner);
    const errors = await Promise.all(
      answers.map(async (answer, index) => {
        const input = inputs.find(({ request }) => request.id === answer.id);
        if (!input) throw inputNotFound(answer.id);
        return faultsOfAnswer(input.request, answer, `/answers/${index}`, check);
      }),
    );
    const faults = [...errors.flat(), ...this.#tooLong(answers)];
    if (faults.length > 0) throw invalidAnswer(faults);
    if (isOwner && after !== undefined) await checkCursor(this.services, run, after);
    const resolved = await this.#store!.answer(run, { answers, by: owner, detached: detached || !isOwner });
    if (resolved.inputs.length > 0) this.processes.resolved(resolved);
    return { run: viewOf(resolved.run), before: isOwner ? resolved.before : undefined };
  }

  /** The answers become one envelope. */
  #tooLong(answers: InputAnswer[]): FieldError[] {
    const { envelopeLength } = this.services.options;
    if (JSON.stringify(answers).length <= envelopeLength) return [];
    return [{ pointer: '/answers', detail: `must have at most ${envelopeLength} characters of JSON` }];
  }

  async #find(owner: string, runId: string): Promise<AskingRun> {
    const { store, settings } = this.services;
    const own = await store.find(storedOwner(settings.name, owner), runId);
    if (own) return { run: own, isOwner: true, inputs: (await this.#store?.of(own)) ?? [] };
    const others = settings.canAnswer ? await this.#ofOthers(owner, runId) : undefined;
    if (!others || others.inputs.length === 0) throw runNotFound();
    return others;
  }

  /** A run of somebody else, with the requests that the host lets this caller answer. */
  async #ofOthers(owner: string, runId: string): Promise<AskingRun | undefined> {
    const { store, settings } = this.services;
    const stored = await this.#store?.ownerOf(runId);
    if (stored === undefined) return undefined;
    const of = ownerOfModule(stored);
    const run = of.module === (settings.name ?? '') ? await store.find(stored, runId) : undefined;
    if (!run) return undefined;
    const view = { ...viewOf(run), owner: of.owner };
    const inputs: StoredInput[] = [];
    for (const input of await this.#store!.of(run))
      if (await settings.canAnswer!(owner, view, input.request)) inputs.push(input);
    return { run, isOwner: false, inputs };
  }

  get #store(): InputStore | undefined {
    return this.services.store.inputs;
  }
}

function inputViewOf(input: StoredInput): InputView {
  const { runId, sessionId, request, askedAt } = input;
  const resolved = input.resolved && withoutId(shownOf(input));
  return {
    runId,
    session: sessionId ?? null,
    ...request,
    askedAt: new Date(askedAt).toISOString(),
    resolved: resolved ?? null,
  };
}

function withoutId({ id: _, ...resolved }: ResolvedInput): Omit<ResolvedInput, 'id'> {
  return resolved;
}
