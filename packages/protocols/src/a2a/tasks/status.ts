import type { InputRequest, InputView, RunView } from 'nest-agent-query';

type Json = Record<string, unknown>;

/** The states of tasks (A2A 1.0 §4.1.3), as far as runs have them. */
export type TaskState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_AUTH_REQUIRED'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED';

export interface TaskStatus {
  state: TaskState;
  message?: Json;
  timestamp?: string;
}

/** A task as messages and events name it. */
export interface TaskNames {
  id: string;
  /** The session; of a run without one, the run itself. */
  contextId: string;
}

/** How runs end, as the states of tasks. */
export const END_STATES = {
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
} as const satisfies Record<string, TaskState>;

export function namesOf({ id, session }: Pick<RunView, 'id' | 'session'>): TaskNames {
  return { id, contextId: session ?? id };
}

/** The state of a run that asks: AUTH_REQUIRED if all that it needs is that a person signs in. */
export function askingState(open: readonly Pick<InputRequest, 'kind'>[]): TaskState {
  const isAuth = open.every(({ kind }) => kind === 'auth');
  return isAuth ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED';
}

/** @param inputs what the run has asked */
export function statusOf(run: RunView, inputs: readonly InputView[]): TaskStatus {
  const timestamp = statusTime(run, inputs);
  const { status } = run;
  if (status === 'waiting' || status === 'running') return { state: activeState(run), timestamp };
  const names = namesOf(run);
  if (status === 'input_required') {
    const open = inputs.filter(({ resolved }) => !resolved).map(requestOf);
    // It has been answered in this moment.
    if (open.length === 0) return { state: 'TASK_STATE_WORKING', timestamp };
    return { state: askingState(open), message: question(names, open), timestamp };
  }
  const failure = run.error && failureMessage(names, run.error);
  return { state: END_STATES[status], ...(failure && { message: failure }), timestamp };
}

/** A run that has been answered waits for a slot, and yet works. */
function activeState({ status, startedAt }: RunView): TaskState {
  return status === 'waiting' && startedAt === null ? 'TASK_STATE_SUBMITTED' : 'TASK_STATE_WORKING';
}

/** When a run got its status. */
function statusTime({ createdAt, startedAt, endedAt }: RunView, inputs: readonly InputView[]): string {
  if (endedAt !== null) return endedAt;
  const times = inputs.flatMap(({ askedAt, resolved }) => [askedAt, ...(resolved ? [resolved.at] : [])]);
  return [createdAt, startedAt ?? createdAt, ...times].reduce((newest, at) => (at > newest ? at : newest));
}

/** What a run asks, in a message: for people, and for programs that answer it. */
export function question(names: TaskNames, requests: readonly InputRequest[]): Json {
  const text = requests.map(({ message }) => message).join('\n');
  const data = { data: { requests }, mediaType: 'application/json' };
  return agentMessage(names, `${requests[0]?.id}.asked`, [{ text }, data]);
}

export function failureMessage(
  names: TaskNames,
  { code, message: text }: { code: string; message: string },
): Json {
  return { ...agentMessage(names, 'end', [{ text }]), metadata: { code } };
}

/** @param name makes the id of the message, together with the task */
export function agentMessage({ id, contextId }: TaskNames, name: string | number, parts: object[]): Json {
  return { messageId: `${id}.${name}`, contextId, taskId: id, role: 'ROLE_AGENT', parts };
}

/** A request as the log has it. */
export function requestOf(input: InputView): InputRequest {
  const { runId: _, session: _session, askedAt: _askedAt, resolved: _resolved, ...request } = input;
  return request;
}
