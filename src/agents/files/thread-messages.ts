import type { FilesLimits } from './files-limits.js';

/** The input of a thread. */
export interface ThreadTask {
  name: string;
  mimeType: string;
  size: number;
  limits: FilesLimits;
}

/** A message from a thread. */
export type ThreadMessage =
  /** It requests bytes of its file. */
  | { type: 'read'; id: number; start: number; end: number }
  /** The answer, in Markdown. */
  | { type: 'described'; content: string }
  /** The file cannot be described. `reason` consists of whole sentences for the caller. */
  | { type: 'unreadable'; reason: string }
  /** An unexpected error. `cause` is for the log of the service. */
  | { type: 'failed'; cause: string; missingLibrary: boolean }
  /** It exceeds the limit for memory. */
  | { type: 'out of memory' };

/** A message to a thread: the bytes that it requested, or undefined if they are not available. */
export interface ThreadBytes {
  id: number;
  bytes: ArrayBuffer | undefined;
}
