import type { AgentQueryError, FieldError, InputAnswer } from 'nest-agent-query-client';
import type { Asked } from '../answer/answer-view.js';
import type { Calls } from './calls.js';
import type { Turn } from './turn.js';

/** Answers have this place in the body of a request, which has one of them. */
const PLACE = '/answers/0/value';

/** What is told of the requests of a session. */
interface Listener {
  changed(): void;
  /** The log of the run says, or will say at once, what has become of a request. */
  resolved(turn: Turn, id: string): void;
  announce(text: string): void;
}

/** What the runs of a session ask: sends the answers, and keeps what the user has written and not sent. */
export class Requests {
  readonly #drafts = new Map<string, unknown>();
  #wanted: string | undefined;

  constructor(
    private readonly calls: Calls,
    private readonly listener: Listener,
  ) {}

  /** Sends an answer. @param asked is open */
  async answer(turn: Turn, asked: Asked, answer: Omit<InputAnswer, 'id'>): Promise<void> {
    const { id } = asked.request;
    if (asked.isSending || asked.resolved) return;
    const change = (members: Partial<Asked>) => {
      Object.assign(asked, members);
      turn.version += 1;
      this.listener.changed();
    };
    change({ isSending: true, refusal: undefined });
    this.listener.announce('Sending your answer.');
    try {
      await this.calls.during(() => this.calls.client.answer(turn.runId!, [{ id, ...answer }]));
    } catch (error) {
      const { message, problem, status, errors = [] } = error as AgentQueryError;
      turn.answer.resolve(problem?.answers ?? []);
      change({ isSending: false, refusal: { message, faults: errors.map(ofValue) } });
      this.listener.announce(`Your answer was not taken. ${message}`);
      if (status !== 409) return;
    }
    this.#drafts.delete(placeOf(turn, asked));
    this.listener.resolved(turn, id);
  }

  /** What the user has written for a request. It stays until the page is loaded again. */
  draft<T>(turn: Turn, asked: Asked): T | undefined {
    return this.#drafts.get(placeOf(turn, asked)) as T | undefined;
  }

  keepDraft(turn: Turn, asked: Asked, draft: unknown): void {
    this.#drafts.set(placeOf(turn, asked), draft);
  }

  /** The request gets the focus as soon as it is shown. */
  want(runId: string, id: string): void {
    this.#wanted = `${runId} ${id}`;
  }

  /** @returns whether the user has chosen this request; once */
  takeWanted(turn: Turn, asked: Asked): boolean {
    if (this.#wanted !== placeOf(turn, asked)) return false;
    this.#wanted = undefined;
    return true;
  }
}

function placeOf({ runId }: Turn, { request }: Asked): string {
  return `${runId} ${request.id}`;
}

function ofValue({ pointer, detail }: FieldError): FieldError {
  return { pointer: pointer.startsWith(PLACE) ? pointer.slice(PLACE.length) : pointer, detail };
}
