import type { InputRequest, ResolvedInput } from 'nest-agent-query-client';
import { pageOf } from '../contract/list-page.js';
import { interrupted, runNotFound } from '../contract/refusals.js';
import {
  answersTo,
  askedAt,
  closedBy,
  expiredOf,
  expiresAt,
  pausedAt,
  refuseToAsk,
  resolvedText,
} from '../ports/input-rules.js';
import { type Asking, type GivenAnswers, type InputsResolved, InputStore } from '../ports/input-store.js';
import type { AttemptRef, ListPage, RunRef, StoredInput } from '../ports/run-record.js';
import type { NumberedInput, Run } from './run.js';

/** How often the requests that have expired are looked for, while some are open. */
const EXPIRY_MS = 500;

/** What an entry of a list costs besides its request, in characters. */
const OVERHEAD = 256;

/** What `MemoryRunStore` does when a run asks, is answered, or has waited for too long. */
export interface AskingRuns {
  find(run: RunRef): Run | undefined;
  withId(runId: string): Run | undefined;
  append(run: Run, envelope: string): void;
  /** The run asks for these, at this time. */
  pause(run: Run, ids: string[], at: number): void;
  wait(run: Run): void;
  expire(run: Run): InputsResolved;
}

/** What runs ask, in the memory of this process: their handlers wait in it too. */
export class MemoryInputStore extends InputStore {
  onExpired: (resolved: InputsResolved) => void = () => undefined;
  /** The runs that ask, in the order in which they began to. */
  readonly #asking = new Set<Run>();
  #timer: NodeJS.Timeout | undefined;
  #asked = 0;

  constructor(private readonly runs: AskingRuns) {
    super();
  }

  ask(name: AttemptRef, asking: Asking): { text: string; seq: number } {
    const run = this.runs.find(name);
    if (run?.status !== 'running' || run.attempt !== name.attempt) throw interrupted();
    refuseToAsk([...this.#asking].filter(({ owner }) => owner === run.owner).length, asking.maxAsking);
    const at = pausedAt(Date.now(), run.inputs);
    const { requests, text } = askedAt(at, asking);
    this.runs.append(run, text);
    run.inputs = [...run.inputs, ...requests.map((request) => this.#inputOf(run, request, at))];
    this.runs.pause(
      run,
      requests.map(({ id }) => id),
      at,
    );
    this.#asking.add(run);
    this.#timer ??= setInterval(() => this.#expire(), EXPIRY_MS).unref();
    return { text, seq: run.lastSeq };
  }

  /** The handler is only in this memory. */
  park(): boolean {
    return false;
  }

  answer(name: RunRef, given: GivenAnswers): InputsResolved {
    const run = this.runs.find(name);
    if (!run) throw runNotFound();
    const resolved = answersTo(run.inputs, run, given, Date.now());
    if (resolved.length > 0) return this.#resolve(run, resolved, given.detached);
    const first = run.inputs.find(({ request }) => request.id === given.answers[0]?.id);
    return { run, inputs: [], before: (first?.seq ?? 1) - 1, isReady: false };
  }

  of(name: RunRef): StoredInput[] {
    return [...(this.runs.find(name)?.inputs ?? [])];
  }

  open(owner: string, page: ListPage) {
    const open = this.#open.filter(([run]) => run.owner === owner).map(([, input]) => input);
    const listed = open.sort((a, b) => b.number - a.number);
    const { entries, next } = pageOf(
      listed,
      page,
      ({ request }) => OVERHEAD + JSON.stringify(request).length,
    );
    return { inputs: entries, next };
  }

  ownerOf(runId: string): string | undefined {
    return this.runs.withId(runId)?.owner;
  }

  countOpen(): number {
    return this.#open.length;
  }

  /** The run ends: closes its open requests, and returns them. */
  close(run: Run, outcome: 'superseded' | 'cancelled'): StoredInput[] {
    if (!this.#asking.has(run)) return [];
    this.#leave(run);
    const { resolved, texts } = closedBy(run.inputs, outcome, Date.now());
    const inputs = setResolved(run.inputs, resolved, run.lastSeq + 1);
    for (const text of texts) this.runs.append(run, text);
    return inputs;
  }

  #leave(run: Run): void {
    this.#asking.delete(run);
    if (this.#asking.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Resolves requests, and lets the run wait if none is open any more. */
  #resolve(run: Run, resolved: ResolvedInput[], detached: boolean): InputsResolved {
    const before = run.lastSeq;
    const inputs = setResolved(run.inputs, resolved, before + 1);
    const text = resolvedText(run.inputs, resolved);
    this.runs.append(run, text);
    run.detached ||= detached;
    const isReady = run.inputs.every((input) => input.resolved);
    if (isReady) {
      this.#leave(run);
      this.runs.wait(run);
    }
    return { run, inputs, before, text, isReady };
  }

  #expire(): void {
    const now = Date.now();
    const isLate = ({ resolved, request }: StoredInput) => !resolved && expiresAt(request) <= now;
    for (const run of [...this.#asking].filter(({ inputs }) => inputs.some(isLate))) {
      const resolved = expiredOf(run.inputs, now);
      this.onExpired(resolved ? this.#resolve(run, resolved, true) : this.runs.expire(run));
    }
  }

  get #open(): [Run, NumberedInput][] {
    return [...this.#asking].flatMap((run) =>
      run.inputs.filter(({ resolved }) => !resolved).map((input): [Run, NumberedInput] => [run, input]),
    );
  }

  #inputOf({ id, sessionId }: Run, request: InputRequest, askedAt: number): NumberedInput {
    const number = ++this.#asked;
    return { runId: id, sessionId, request, askedAt, number, resolved: undefined, seq: undefined };
  }
}

/** Sets how requests were resolved. Returns these. */
export function setResolved(
  inputs: NumberedInput[],
  resolved: readonly ResolvedInput[],
  seq: number,
): StoredInput[] {
  return resolved.map((each) => {
    const index = inputs.findIndex(({ request }) => request.id === each.id);
    return (inputs[index] = { ...inputs[index]!, resolved: each, seq });
  });
}
