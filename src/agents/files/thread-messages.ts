import type { FilesLimits } from './files-limits.js';

/** What a thread is started with. */
export interface ThreadTask {
  name: string;
  mimeType: string;
  size: number;
  limits: FilesLimits;
}

/** What a thread says. */
export type ThreadMessage =
  /** It needs bytes of its file. */
  | { type: 'read'; id: number; start: number; end: number }
  /** The answer, in Markdown. */
  | { type: 'described'; content: string }
  /** The file cannot be described: whole sentences for the caller. */
  | { type: 'unreadable'; reason: string }
  /** Something else went wrong: for the log of the service. */
  | { type: 'failed'; cause: string; missingLibrary: boolean }
  /** It needs more memory than it may have. */
  | { type: 'out of memory' };

/** What a thread is told: the bytes that it asked for, or undefined if they cannot be had. */
export interface ThreadBytes {
  id: number;
  bytes: ArrayBuffer | undefined;
}
