/**
 * What the service and a process of its pool say to each other. A process works on one request at a time. It answers with
 * any number of pieces and then with one end.
 */
import type { Attachments } from './answer.js';
import type { FilesLimits } from './files-limits.js';
import type { FilesRequest } from './request.js';

/** A file, as the service announces it. Its bytes are requested by its position in the list. */
export interface FileLabel {
  name: string;
  mimeType: string;
  /** Bytes. */
  size: number;
}

/** What is asked about files: what the caller requests, or which requests fit them and a text. */
export type Question = { kind: 'suggest'; text: string } | Exclude<FilesRequest, { kind: 'writing' }>;

/** Asks a question about files. Each piece of the answer is Markdown, to be read after the pieces before it. */
export interface ParserRequest {
  question: Question;
  /** One file for `describe`; any number for another question. */
  files: FileLabel[];
  /** `seconds` is the time for these files: after it, the process itself stops reading. */
  limits: FilesLimits;
}

/** A message to a process. */
export type ToParser =
  /** `content` is the whole file if it is the only one and small. Otherwise the process requests the bytes that it needs. */
  | { type: 'request'; request: ParserRequest; content: Uint8Array | undefined }
  /** The bytes that the process has requested; undefined if they are not available. */
  | { type: 'bytes'; file: number; id: number; bytes: Uint8Array | undefined };

/** How a request ended, as its process says. */
export type ParserEnd =
  /**
   * The answer is complete. `resident` is how many bytes of memory the process has then. A file of the answer is in the
   * workspace until the next request.
   */
  | { type: 'done'; resident: number; attachments: Attachments }
  /** There is no answer. `reason` consists of whole sentences for the caller. */
  | { type: 'unreadable'; reason: string; resident: number }
  /** An unexpected error. `cause` is for the log of the service. */
  | { type: 'failed'; cause: string; resident: number };

/** A message from a process. */
export type FromParser =
  /** It waits for its first request. */
  | { type: 'ready'; resident: number }
  /** It requests bytes of the file at a position in the list. */
  | { type: 'read'; file: number; id: number; start: number; end: number }
  /** The next piece of the answer. */
  | { type: 'piece'; piece: string }
  | ParserEnd;

/** What a process writes to its standard error before it ends itself because of its memory. */
export const OUT_OF_MEMORY = 'The memory limit of this process is reached';
