import type {
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
import { faultsOfAnswer } from './questions.js';
import type { RunnerServices } from './runner-services.js';
import { listPageOf, nextOf, type ListOptions, viewOf } from './views.js';

/** A run whose requests a caller may see. */
interface AskingRun {
  run: RunRecord;
  isOwner: boolean;
  /** Those that the caller may answer. */
  inputs: StoredInput[];
}

/** What callers do with the requests of runs: see them, and answer them. */
export class Inputs {
  constructor(
    private readonly services: RunnerServices,
    private readonly processes: Processes,
  ) {}

  /** @throws {QueryError} `not_found`: there is no such run, or none of its requests is for this caller · `unavailable` */
  async of(owner: string, runId: string): Promise<RunInputs> {
    const { inputs } = await this.#find(owner, runId);
    return { inputs: inputs.map(inputViewOf) };
  }

  /** @throws {QueryError} `invalid_query`: `after` is not the `next` of a page · `unavailable` */
  async open(owner: string, options: ListOptions): Promise<InputList> {
    const page = listPageOf(options);
    const stored = storedOwner(this.services.settings.name, owner);
    const { inputs = [], next } = (await this.#store?.open(stored, page)) ?? {};
    return { inputs: inputs.map(inputViewOf), next: nextOf(next) };
  }

  /**
   * Answers requests of a run, as one step.
   *
   * @returns the run; the number of the envelope before the answer, undefined for a caller who does not own the run
   * @throws {QueryError} `not_found` · `invalid_answer` · `input_resolved` · `input_expired` · `run_ended` · `unavailable`
   */
  async answer(
    owner: string,
    runId: string,
    answers: InputAnswer[],
    detached: boolean,
  ): Promise<{ run: RunView; before: number | undefined }> {
    const { run, isOwner, inputs } = await this.#find(owner, runId);
    const errors = await Promise.all(
      answers.map(async (answer, index) => {
        const input = inputs.find(({ request }) => request.id === answer.id);
        if (!input) throw inputNotFound(answer.id);
        return faultsOfAnswer(input.request, answer, `/answers/${index}`);
      }),
    );
    const faults = errors.flat();
    if (faults.length > 0) throw invalidAnswer(faults);
    const resolved = await this.#store!.answer(run, { answers, by: owner, detached: detached || !isOwner });
    this.processes.resolved(resolved);
    return { run: viewOf(resolved.run), before: isOwner ? resolved.before : undefined };
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
