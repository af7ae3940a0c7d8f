import type { AgentQueryClient, SessionPage, Turn } from 'nest-agent-query-client';
import { localTime } from './local-time.js';
import { checked, hasTexts, isPage } from './response-form.js';

/**
 * Reads all turns of a session, oldest first.
 *
 * @param take is given each turn, and waited for
 * @returns the id of the run that executes or asks, or null
 * @throws {AgentQueryError} `not_found`: there is no such session · `invalid_response`: something else has answered
 */
export async function readTurns(
  client: AgentQueryClient,
  sessionId: string,
  take: (turn: Turn) => Promise<void>,
): Promise<string | null> {
  for (let after: number | undefined; ;) {
    const page = checked(await client.session(sessionId, { after }), isPageOfTurns);
    for (const turn of page.turns) await take(turn);
    if (page.next === null) return page.active ?? page.asking;
    after = page.next;
  }
}

function isPageOfTurns({ turns, next }: SessionPage): boolean {
  if (!isPage(turns, next, ['runId', 'createdAt', 'text'])) return false;
  return turns.every(
    ({ parts, envelopes, end }) =>
      Array.isArray(parts) && Array.isArray(envelopes) && hasTexts(end, ['status']),
  );
}

/** When a turn was, how it ended, and its question. */
export function headOf({ parts, end, runId, createdAt }: Turn): string {
  const question = parts.map((part) =>
    part.type === 'text'
      ? `${part.earlier ? `(earlier, ${part.earlier}) ` : ''}${part.text}${part.truncated ? '… (cut)' : ''}`
      : `[${part.name}, ${part.mimeType}, ${part.size} bytes]`,
  );
  const quoted = question.join('\n').replace(/^/gm, '> ');
  const state = end.status === 'failed' ? `failed: ${end.error.message} (${end.error.code})` : end.status;
  return `--- ${localTime(createdAt)}, run ${runId}, ${state}\n${quoted}`;
}

/** The text of the answer. */
export function answerOf({ text, truncated }: Turn): string {
  return `${text}${truncated ? '… (cut)' : ''}`;
}
