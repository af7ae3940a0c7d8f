import type { AgentQueryClient } from 'nest-agent-query-client';
import { UsageError } from './failures.js';
import { checked, isPage } from './response-form.js';

/** How a command line names a session. */
export interface SessionOptions {
  session?: string;
  continue?: true;
}

/**
 * The session that a command line names.
 *
 * @param kwargs the metadata that `--kwargs` gives
 * @returns undefined if it names none, or names it in the metadata
 * @throws {UsageError} it names more than one, or there is none to continue
 */
export async function sessionOf(
  client: AgentQueryClient,
  { session, continue: isContinued }: SessionOptions,
  kwargs: Record<string, unknown>,
): Promise<string | undefined> {
  if (session !== undefined && 'session_id' in kwargs)
    throw new UsageError('Both --session and session_id of --kwargs name a session. Give one of them.');
  if (!isContinued) return session;
  if (session !== undefined || 'session_id' in kwargs)
    throw new UsageError(
      'A session is named, and --continue takes the one that was used last. Give one of them.',
    );
  const list = await client.sessions({ limit: 1 });
  const [last] = checked(list, ({ sessions, next }) => isPage(sessions, next, ['id'])).sessions;
  if (last) return last.id;
  throw new UsageError('There is no session to continue. To begin one: --session NAME');
}
