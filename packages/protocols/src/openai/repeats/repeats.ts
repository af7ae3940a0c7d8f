import { Injectable } from '@nestjs/common';
import { QueryError, type RunStream, type RunView } from 'nest-agent-query';
import {
  hasLeft,
  header,
  type HostRequest,
  type HostResponse,
  rawResponse,
  type ReceivedBody,
} from 'nest-agent-query/protocol';
import { View } from '../../view/view.js';
import { LostAnswers } from './lost-answers.js';
import { requestDigest } from './request-digest.js';

/** A run that a request has submitted, answered or found. */
export interface Begun {
  run: RunView;
  stream: RunStream;
  leg: number;
}

/** A request that submits a query. */
interface Submission {
  request: HostRequest;
  response: HostResponse;
  owner: string;
  body: ReceivedBody;
}

/**
 * Lets a request that its client repeats by itself find the run of its first attempt. The official clients say in
 * `x-stainless-retry-count` which attempt it is. An attempt is found only when its answer was lost: two equal requests are two runs.
 */
@Injectable()
export class Repeats {
  readonly #lost = new LostAnswers();

  constructor(private readonly view: View) {}

  /** @param submit begins a new run */
  async once(submission: Submission, submit: () => Promise<Begun>): Promise<Begun> {
    const { request, response, owner, body } = submission;
    const attempt = header(request, 'x-stainless-retry-count');
    // The key of a caller says more.
    if (attempt === undefined || header(request, 'idempotency-key') !== undefined) return submit();
    const digest = await requestDigest(request, owner, body);
    const found = Number(attempt) > 0 ? await this.#find(owner, digest, request) : undefined;
    const begun = found ?? (await submit());
    this.#watch(digest, begun.run.id, response);
    return begun;
  }

  async #find(owner: string, digest: string, request: HostRequest): Promise<Begun | undefined> {
    const { agent } = this.view.endpoint;
    const runId = this.#lost.take(digest);
    const run = runId === undefined ? undefined : await agent.find(owner, runId).catch(nothingIfGone);
    if (!run || isGivenUp(run)) return undefined;
    return { run, leg: 1, stream: agent.follow(owner, run.id, 0, { request }) };
  }

  #watch(digest: string, runId: string, response: HostResponse): void {
    const raw = rawResponse(response);
    // Not `writableFinished`, which a response of HTTP/2 does not have.
    let isSent = false;
    const closed = () => {
      // The client repeats such a status too.
      if (!isSent || raw.statusCode >= 500) this.#lost.add(digest, runId);
    };
    raw.once('finish', () => (isSent = true));
    if (hasLeft(raw)) closed();
    else raw.once('close', closed);
  }
}

/** As with an idempotency key, a run that was interrupted is not found. What was cancelled has no whole answer. */
function isGivenUp({ status, error }: RunView): boolean {
  return status === 'cancelled' || error?.code === 'interrupted';
}

function nothingIfGone(error: unknown): undefined {
  if (error instanceof QueryError && error.code === 'not_found') return undefined;
  throw error;
}
