import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import { QueryError } from 'nest-agent-query';
import type { CallCursor } from './call-cursor.js';
import { sessionOf } from './client-facts.js';
import type { Call, Exchange } from './exchange.js';
import { isObject } from './json.js';
import { Questions, type ShownQuestion } from './questions.js';
import type { AgentTools } from './tools.js';

/**
 * Asks the client of a call of the version 2025-11-25, on the response of the call. The id of the request names the run and its
 * question, so that any process takes the answer.
 *
 * @param cursor where the stream goes on, if it is cut after a question
 * @returns whether the client can ask all of it
 */
export async function pushQuestions(
  call: Call,
  cursor: CallCursor,
  shown: ShownQuestion[],
): Promise<boolean> {
  const { runId } = cursor;
  const { modes = [] } = sessionOf(call.exchange.request) ?? {};
  if (!shown.every(({ elicitation: { mode } }) => modes.includes(mode))) return false;
  for (const [index, { id, elicitation }] of shown.entries()) {
    const message = {
      jsonrpc: '2.0',
      id: `${runId}:${id}`,
      method: 'elicitation/create',
      params: elicitation,
    };
    // A client that resumes before the last one has not got all of them.
    if (index === shown.length - 1) call.exchange.markAt(JSON.stringify(message.id), cursor);
    // The client may have left meanwhile.
    await call.server.transport?.send(message as JSONRPCRequest, { relatedRequestId: call.mcpReq.id });
  }
  return true;
}

/** Takes the answers of clients of the version 2025-11-25: responses in requests of their own. */
export class PushedAnswers {
  constructor(private readonly tools: AgentTools) {}

  /** @throws {QueryError} `not_found` · `invalid_answer`: the run still asks */
  async take({ request }: Exchange, response: Record<string, unknown>): Promise<void> {
    const [, runId, inputId] = /^([\w-]{1,100}):(.+)$/s.exec(String(response['id'])) ?? [];
    if (runId === undefined)
      throw new QueryError('not_found', 'This server has sent no request with that id.');
    const { owner, endpoint } = await this.tools.find(request, runId);
    const questions = await Questions.of({ owner, endpoint }, runId);
    // A client that answers with an error cannot ask.
    const result = isObject(response['result']) ? response['result'] : { action: 'cancel' };
    await questions.answer({ [inputId!]: result });
  }
}
