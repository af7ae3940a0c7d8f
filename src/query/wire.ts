/** JSON shapes that cross the network. Types only: nothing here exists at run time. */

/** One event of an answer, as the handler emits it and as the caller reads it from a `data:` line. */
export interface Envelope {
  /** Tells events apart. `message`, `log` and `done` have the meaning below; any other name may be used. */
  type: string;
  /** Any value that JSON can hold. */
  data: unknown;
}

/** A part of the agent's response text. */
export interface MessageEnvelope extends Envelope {
  type: 'message';
  data: { content: string };
}

/** Diagnostic or progress text. */
export interface LogEnvelope extends Envelope {
  type: 'log';
  data: { message: string };
}

/** The last envelope of every run. It is written by the service, never by a handler. */
export interface DoneEnvelope extends Envelope {
  type: 'done';
  data: RunEnd;
}

/** How a run ended. */
export type RunEnd =
  | { status: 'completed' }
  | { status: 'cancelled' }
  | { status: 'failed'; error: { code: string; message: string } };
