import type { Envelope } from './envelopes.js';
import type { RunEnd } from './runs.js';

/** A file of a query or of an answer, without its content. */
export interface TurnFile {
  type: 'file';
  name: string;
  mimeType: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the content, lower-case hexadecimal. */
  sha256: string;
}

/** What a page says of a text that it shows cut. A handler is given whole texts, without these members. */
export interface CutText {
  /** Present if the text has more than 64 KiB as UTF-8 and only its beginning is shown. */
  truncated?: true;
  /** Bytes of the whole text as UTF-8. */
  size?: number;
  /** SHA-256 of the whole text as UTF-8. `GET {base}/query/{runId}/files/{sha256}` returns the text. */
  sha256?: string;
}

/** A text of an earlier turn. */
export interface TurnText extends CutText {
  type: 'text';
  text: string;
  /**
   * Who wrote the text, if it is older than the query: the caller has sent an earlier conversation along. Absent in texts of the
   * query itself.
   */
  earlier?: 'user' | 'assistant';
}

/** What a turn keeps of an answer. */
export interface TurnAnswer {
  /** The contents of the answer's `message` envelopes, joined; at most the first 1,048,576 characters. */
  text: string;
  /**
   * The answer's envelopes of the standard types except `log` and `progress`, in their order, at most the first 1 MiB of JSON.
   * Neighbouring pieces of one message, or of one piece of reasoning, are one envelope. If a page shows `text` cut, the
   * contents of the messages end where `text` ends.
   */
  envelopes: Envelope[];
  /** Present if the answer has more envelopes than `envelopes`. */
  envelopesTruncated?: true;
}

/** One question and its answer in a session. Times are ISO 8601 in UTC. If `text` is cut, `CutText` describes it. */
export interface Turn extends CutText, TurnAnswer {
  runId: string;
  /** The user's parts; files as name, type, size and digest. */
  parts: (TurnText | TurnFile)[];
  /** How the run ended. */
  end: RunEnd;
  createdAt: string;
  endedAt: string;
}

/** A session, as a list shows it. */
export interface SessionView {
  id: string;
  /** The beginning of the first text of its queries; null if none of them has a text. */
  title: string | null;
  /** The number of its newest turn. */
  turns: number;
  /** When it was last used: the time of its newest query or turn, as ISO 8601 in UTC. */
  updatedAt: string;
  /** The id of the run that executes, or null. */
  active: string | null;
  /** The id of the run that asks, or null. */
  asking: string | null;
}

/** A page of the caller's sessions, as `GET {base}/query/sessions` returns it. */
export interface SessionList {
  /** Last used first. */
  sessions: SessionView[];
  /** The value of `after` for the next page; null at the end. */
  next: string | null;
}

/** A page of a session's turns, as `GET {base}/query/sessions/{session_id}` returns it. */
export interface SessionPage {
  id: string;
  /** The id of the run that executes, or null. */
  active: string | null;
  /** The id of the run that asks, or null. */
  asking: string | null;
  /** How many runs wait in the queue of the session. */
  waiting: number;
  /** Oldest first. */
  turns: Turn[];
  /** The value of `after` for the next page; null at the end. */
  next: number | null;
}

/** A file that was sent before its query, as `POST {base}/query/files` returns it. */
export interface SentFile {
  /** The SHA-256 of the content, lower-case hexadecimal: a file part has it in place of `base64`. */
  sha256: string;
  /** Bytes. */
  size: number;
  name: string;
  mimeType: string;
  /** When it expires if no query uses it: ISO 8601 in UTC. */
  expiresAt: string;
}
