/** What crosses the network in a stream. */
export interface Envelope {
  type: string;
  data: unknown;
}

/** One step of the agent that the suite asks: docs/conformance.md has what each of them does. */
export type Step =
  | { emit: Envelope; times?: number }
  | { file: { name: string; mimeType: string; base64: string } }
  | { report: 'query' | 'history' }
  | { count: string }
  | { mark: string }
  | { markWhenStopped: string }
  | { wait: string }
  | { ask: Question[] }
  | { fail: string }
  | { hang: true };

/** What the agent asks, with the members of a request that the suite uses. */
export interface Question {
  key: string;
  kind: 'approval' | 'input' | 'tool' | 'auth';
  message: string;
  toolCallId?: string;
  name?: string;
  arguments?: unknown;
  editable?: boolean;
  schema?: Record<string, unknown>;
  url?: string;
  private?: boolean;
  hold?: boolean;
  expiresInMs?: number;
  onExpire?: 'decline' | 'fail' | { value: unknown };
}

export function message(content: string): Envelope {
  return { type: 'message', data: { content } };
}

export function log(text: string): Envelope {
  return { type: 'log', data: { message: text } };
}

/** The step that emits a message. */
export function say(content: string): Step {
  return { emit: message(content) };
}

/** A part of a query. */
export type Part =
  { type: 'text'; text: string } | { type: 'file'; name: string; mimeType: string; base64: string };

/** A file part whose content was sent before. */
export interface SentFile {
  type: 'file';
  name: string;
  mimeType: string;
  sha256: string;
}

export function text(content: string): Part {
  return { type: 'text', text: content };
}

export function file(name: string, mimeType: string, content: Uint8Array | string): Part {
  return { type: 'file', name, mimeType, base64: Buffer.from(content).toString('base64') };
}
