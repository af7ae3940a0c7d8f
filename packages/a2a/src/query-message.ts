import { Buffer } from 'node:buffer';
import { type Message, type Part, Role } from '@a2a-js/sdk';
import type { Query, QueryContext } from 'nest-agent-query';
import { threadOf } from 'nest-agent-query-adapters';
import { filesTooLarge } from './failures.js';
import { partOf, textPart } from './pauses.js';

/** The most bytes of the files of a query: a message is one JSON text, which is in memory several times. */
const MAX_FILES_BYTES = 16 * 1024 * 1024;

/**
 * The context of a run: its session, or itself. To the agent all owners are one caller, so the same id of two owners must be two
 * contexts. It follows from what is known before the first message, so that the task of a message can be found.
 */
export function contextIdOf({ owner, session, runId }: QueryContext): string {
  return threadOf({ owner, id: session ? `session ${session.id}` : `run ${runId}` });
}

/**
 * A message of a run.
 *
 * @param messageId of the query: the id of the run
 * @param taskId of the task that the message is for. Default: none, it begins one
 */
export function messageOf(messageId: string, contextId: string, parts: Part[], taskId = ''): Message {
  return {
    messageId,
    contextId,
    taskId,
    role: Role.ROLE_USER,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

/**
 * The message that a query is.
 *
 * @throws {QueryError} `limit_exceeded`: its files are too large
 */
export async function queryMessage({ parts, kwargs }: Query, context: QueryContext): Promise<Message> {
  const size = parts.reduce((sum, part) => sum + (part.type === 'file' ? part.file.size : 0), 0);
  if (size > MAX_FILES_BYTES) throw filesTooLarge(MAX_FILES_BYTES, size);
  const made = await Promise.all(
    parts.map(async (part) => {
      if (part.type === 'text') return textPart(part.text);
      const value = Buffer.from(await part.file.arrayBuffer());
      return partOf({ $case: 'raw', value }, part.name, part.mimeType);
    }),
  );
  // The context is the session.
  const { session_id: _, ...metadata } = kwargs;
  const message = messageOf(context.runId, contextIdOf(context), made);
  return Object.keys(metadata).length > 0 ? { ...message, metadata } : message;
}
