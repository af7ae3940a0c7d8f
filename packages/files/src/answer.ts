import type { Suggestion } from 'nest-agent-query';

/** A file of an answer, in the workspace of the process that has written it. */
export interface WrittenFile {
  name: string;
  mimeType: string;
  path: string;
}

/** What an answer has besides its text. */
export interface Attachments {
  file?: WrittenFile;
  /** Requests that work for the files of the question. */
  suggestions?: Suggestion[];
}

/** The pieces of an answer, in Markdown, and at its end what it has besides. */
export type Answering = AsyncGenerator<string, Attachments | void, undefined>;
