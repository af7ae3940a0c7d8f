import { type InputRequests, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { type InputAnswer, type InputView, QueryError } from 'nest-agent-query';
import type { Mode } from './client-facts.js';
import { answerOf, type Elicitation, type Elicited, elicitationOf } from './elicitation.js';
import { isObject } from './json.js';
import type { FoundRun } from './tools.js';

/** A question that a client can put to a person. */
export interface ShownQuestion {
  id: string;
  elicitation: Elicitation;
}

/** Questions as results have them. */
export function inputRequestsOf(shown: readonly ShownQuestion[]): InputRequests {
  const entries = shown.map(({ id, elicitation }) => [
    id,
    { method: 'elicitation/create', params: elicitation },
  ]);
  return Object.fromEntries(entries) as InputRequests;
}

/** What a run asks at present. */
export class Questions {
  private constructor(
    private readonly found: Pick<FoundRun, 'owner' | 'endpoint'>,
    private readonly runId: string,
    private readonly open: InputView[],
  ) {}

  static async of(found: Pick<FoundRun, 'owner' | 'endpoint'>, runId: string): Promise<Questions> {
    const { inputs } = await found.endpoint.agent.inputs.of(found.owner, runId);
    const open = inputs.filter(({ resolved }) => !resolved);
    return new Questions(found, runId, open);
  }

  /** What clients can show. @param modes how this client asks. Default: in all ways */
  shown(modes: readonly Mode[] = ['form', 'url']): ShownQuestion[] {
    return this.open.flatMap((request) => {
      const elicitation = elicitationOf(request);
      return elicitation && modes.includes(elicitation.mode) ? [{ id: request.id, elicitation }] : [];
    });
  }

  /** What the run asks, for people who cannot answer it here. */
  get text(): string {
    return this.open.map(({ message }) => message).join('\n');
  }

  /** When the run has asked last, as ISO 8601; undefined if it asks nothing. */
  get askedAt(): string | undefined {
    return this.open.at(-1)?.askedAt;
  }

  /** Declines what no client can show to a person, so that the run goes on without it. */
  async declineHidden(): Promise<void> {
    const hidden = this.open.filter((request) => !elicitationOf(request));
    await this.#answer(hidden.map(({ id }) => ({ id, outcome: 'declined' })));
  }

  /**
   * Gives the answers of a client to what is still open. Others are ignored: they may have been given before.
   *
   * @param responses by the ids of the requests
   * @param options `detached`: whether the run goes on although nobody follows it. Default false
   * @throws {QueryError} `invalid_answer`
   */
  async answer(responses: unknown, { detached = false } = {}): Promise<void> {
    if (!isObject(responses)) return;
    const answers = this.open.flatMap((request) => {
      const response = Object.hasOwn(responses, request.id) ? responses[request.id] : undefined;
      return isObject(response) ? [answerOf(request, response as unknown as Elicited)] : [];
    });
    await this.#answer(answers, detached);
  }

  async #answer(answers: InputAnswer[], detached = false): Promise<void> {
    if (answers.length === 0) return;
    const { endpoint, owner } = this.found;
    try {
      await endpoint.agent.inputs.answer(owner, this.runId, answers, { detached });
    } catch (error) {
      // Somebody else was faster, and the run goes on.
      if (!(error instanceof QueryError) || !RESOLVED.includes(error.code)) throw error;
    }
  }
}

const RESOLVED = ['input_resolved', 'input_expired', 'run_ended'];

/** @throws {ProtocolError} -32602 in place of `invalid_answer`: the run still asks */
export async function checked(answer: () => Promise<void>): Promise<void> {
  try {
    await answer();
  } catch (error) {
    if (!(error instanceof QueryError) || error.code !== 'invalid_answer') throw error;
    const { errors = [] } = error.extras;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.detail, { errors });
  }
}
