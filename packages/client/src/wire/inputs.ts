/**
 * What a request of a run asks for: whether a call may be made (`approval`), a value (`input`), the result of a call that the
 * client executes (`tool`), or that a person signs in at `url` (`auth`).
 */
export type InputKind = 'approval' | 'input' | 'tool' | 'auth';

/** One request of a run that asks. */
export interface InputRequest {
  /** Names the request within its run: the `key` that the handler has given it. */
  id: string;
  kind: InputKind;
  /** What a person is asked. */
  message: string;
  /** `approval` and `tool`: the id, the name and the arguments of the call. */
  toolCallId?: string;
  name?: string;
  arguments?: unknown;
  /** `approval`: whether the answer may replace the arguments. */
  editable?: true;
  /** `input`: a JSON Schema (draft 2020-12) that the answer must match. Absent if the answer is a string. */
  schema?: Record<string, unknown> | boolean;
  /** `auth`: where the person signs in. */
  url?: string;
  /** The value of the answer is not written to the log. */
  private?: true;
  /** A newer query of the session does not take the place of this request. */
  hold?: true;
  /** When the request expires, as ISO 8601 in UTC. */
  expiresAt: string;
  /** What happens then: the handler goes on without an answer, the run fails, or this is the value of the answer. */
  onExpire: 'decline' | 'fail' | { value: unknown };
}

/** What has become of a request. A caller sends `answered` or `declined`; the others are written by the service. */
export type InputOutcome = 'answered' | 'declined' | 'expired' | 'superseded' | 'cancelled';

/** The answer to a request, as a caller sends it. */
export interface InputAnswer {
  /** The id of the request. */
  id: string;
  outcome: 'answered' | 'declined';
  /**
   * `answered`: for an `approval` an `ApprovalValue`, for an `input` what the schema says, for a `tool` a `ToolValue`, for an
   * `auth` an empty object. Absent for `declined`.
   */
  value?: unknown;
}

/** The value of the answer to an `approval`. */
export interface ApprovalValue {
  approved: boolean;
  /** Replace all arguments of the call, if the request is `editable`. */
  arguments?: Record<string, unknown>;
  /** For the agent: why. */
  reason?: string;
}

/** The value of the answer to a `tool`. */
export interface ToolValue {
  content: unknown;
  isError?: boolean;
}

/** How a request was resolved. */
export interface ResolvedInput {
  id: string;
  outcome: InputOutcome;
  /** Absent without one. In the log it is also absent for a `private` request. */
  value?: unknown;
  /** The owner who has answered; null if nobody has. */
  by: string | null;
  /** ISO 8601 in UTC. */
  at: string;
}

/** A request with its run, and with what has become of it. */
export interface InputView extends InputRequest {
  runId: string;
  /** The session of the run, or null. */
  session: string | null;
  /** When the run has asked, as ISO 8601 in UTC. */
  askedAt: string;
  /** How it was resolved; null while it is open. */
  resolved: Omit<ResolvedInput, 'id'> | null;
}

/** The requests of one run, as `GET {base}/query/{runId}/inputs` returns them: in the order in which they were asked. */
export interface RunInputs {
  inputs: InputView[];
}

/** A page of the open requests of a caller, as `GET {base}/query/inputs` returns it. */
export interface InputList {
  /** Newest first. */
  inputs: InputView[];
  /** The value of `after` for the next page; null at the end. */
  next: string | null;
}
