import type { InputView, RunView, Turn } from 'nest-agent-query';
import type { JsonPieces } from 'nest-agent-query/protocol';
import { namesOf, question, requestOf, statusOf, type TaskNames, type TaskStatus } from './status.js';

type Json = Record<string, unknown>;

/** A task (A2A 1.0 §4.1.1). */
export interface Task extends TaskNames {
  status: TaskStatus;
  artifacts?: JsonPieces;
  history?: Json[];
  metadata?: Json;
}

/** The metadata of a run in which the id of the client's message is. */
export const MESSAGE_KEY = 'a2a.message';

/** A run as a task, without artifacts and history. @param inputs what it has asked */
export function taskOf(run: RunView, inputs: readonly InputView[]): Task {
  return { ...namesOf(run), status: statusOf(run, inputs), ...metadataOf(run) };
}

/** A run as it was when it was admitted. */
export function submittedTask(run: RunView): Task {
  const status = { state: 'TASK_STATE_SUBMITTED', timestamp: run.createdAt } as const;
  return { ...namesOf(run), status, ...metadataOf(run) };
}

/**
 * The messages of a task, oldest first: the query; then what the task has asked and the client has answered. What it asks at
 * present is in its status.
 *
 * @param parts those of the query; undefined if they are not kept
 * @param fileUrl the URL of a file of the run
 */
export function historyOf(
  run: RunView,
  inputs: readonly InputView[],
  parts: Turn['parts'] | undefined,
  fileUrl: (sha256: string) => string,
): Json[] {
  const names = namesOf(run);
  const query = parts?.map((part) =>
    part.type === 'text'
      ? { text: part.text }
      : { url: fileUrl(part.sha256), filename: part.name, mediaType: part.mimeType },
  );
  const messageId = run.metadata?.[MESSAGE_KEY] ?? `${run.id}.query`;
  return [...(query ? [userMessage(names, messageId, query)] : []), ...pausesOf(names, inputs)];
}

/** The requests that were asked together, and their answers, pause by pause. */
function pausesOf(names: TaskNames, inputs: readonly InputView[]): Json[] {
  const times = [...new Set(inputs.map(({ askedAt }) => askedAt))];
  return times.flatMap((time) => {
    const asked = inputs.filter(({ askedAt }) => askedAt === time);
    if (asked.some(({ resolved }) => !resolved)) return [];
    const answers = asked.flatMap(({ id, resolved }) => {
      const { outcome, value } = resolved!;
      return outcome === 'answered' || outcome === 'declined' ? [{ id, outcome, value }] : [];
    });
    const part = { data: { answers }, mediaType: 'application/json' };
    const answer = userMessage(names, `${names.id}.${asked[0]!.id}.answer`, [part]);
    return [question(names, asked.map(requestOf)), ...(answers.length > 0 ? [answer] : [])];
  });
}

function userMessage({ id, contextId }: TaskNames, messageId: string, parts: object[]): Json {
  return { messageId, contextId, taskId: id, role: 'ROLE_USER', parts };
}

function metadataOf({ metadata = {} }: RunView): Pick<Task, 'metadata'> {
  const { [MESSAGE_KEY]: _, ...told } = metadata;
  return Object.keys(told).length > 0 ? { metadata: told } : {};
}
