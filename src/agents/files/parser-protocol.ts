/**
 * What the service and a process of its pool say to each other. A process works on one request at a time. It answers with
 * any number of pieces and then with one end.
 */
import type { FilesLimits } from './files-limits.js';

/** What can be asked about a file. */
export type ParserRequest = DescribeRequest;

/** Asks what is in a file. Each piece of the answer is Markdown, to be read after the pieces before it. */
export interface DescribeRequest {
  kind: 'describe';
  name: string;
  mimeType: string;
  size: number;
  /** `seconds` is the time for this file: after it, the process itself stops reading. */
  limits: FilesLimits;
}

/** A message to a process. */
export type ToParser =
  /** `content` is the whole file if it is small. Otherwise the process requests the bytes that it needs. */
  | { type: 'request'; request: ParserRequest; content: Uint8Array | undefined }
  /** The bytes that the process has requested; undefined if they are not available. */
  | { type: 'bytes'; id: number; bytes: Uint8Array | undefined };

/** How a request ended, as its process says. */
export type ParserEnd =
  /** The answer is complete. `resident` is how many bytes of memory the process has then. */
  | { type: 'done'; resident: number }
  /** The file cannot be described. `reason` consists of whole sentences for the caller. */
  | { type: 'unreadable'; reason: string; resident: number }
  /** An unexpected error. `cause` is for the log of the service. */
  | { type: 'failed'; cause: string; missingLibrary: boolean; resident: number };

/** A message from a process. */
export type FromParser =
  /** It waits for its first request. */
  | { type: 'ready'; resident: number }
  /** It requests bytes of its file. */
  | { type: 'read'; id: number; start: number; end: number }
  /** The next piece of the answer. */
  | { type: 'piece'; piece: string }
  | ParserEnd;

/** What a process writes to its standard error before it ends itself because of its memory. */
export const OUT_OF_MEMORY = 'The memory limit of this process is reached';
