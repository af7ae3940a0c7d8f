import type { AgentQueryError } from './agent-query-error.js';
import type { BodyStream, isBrowser, OnSent } from './body-stream.js';
import type { Connection, jsonOf } from './connection.js';
import type { bytesOf, FileSource } from './file-source.js';
import { type Refusals, type Request, upload } from './upload.js';
import type { SentFile } from './wire/index.js';

/*
 * Pages load this module with their first large file. It imports nothing of the rest of the client, which a bundler
 * would divide for it.
 */

/** Where and how files are sent: what would be imported otherwise is a member. */
export interface Sending {
  connection: Connection;
  signal: AbortSignal;
  onSent: OnSent | undefined;
  bytesOf: typeof bytesOf;
  BodyStream: typeof BodyStream;
  isBrowser: typeof isBrowser;
  jsonOf: typeof jsonOf;
  refusals: Refusals;
}

/** The digests of what was sent before: no browser hashes a content without loading it whole. */
const digests = new WeakMap<Blob, string>();

/**
 * Sends files for the queries that name them, unless the caller has sent them before, or the service takes files with their query
 * only. Those that the service has get their digest.
 *
 * @throws {AgentQueryError} the service refuses, `connection_lost` or `file_unreadable` · the reason of the signal
 */
export async function sendFiles(sources: readonly FileSource[], sending: Sending): Promise<void> {
  const { connection } = sending;
  for (const source of sources) {
    if (!connection.takesFiles) return;
    source.sha256 ??= await sendFile(source, sending);
    connection.takesFiles = source.sha256 !== undefined;
  }
}

async function sendFile(source: FileSource, sending: Sending): Promise<string | undefined> {
  const { connection, signal } = sending;
  const { blob } = source;
  const sha256 = (blob && digests.get(blob)) ?? (await digestOf(source, sending));
  if (sha256) {
    const url = connection.url('files', sha256);
    if (await ifThere(connection.send(url, { method: 'HEAD', signal }, () => true))) return sha256;
  }
  const sent = await ifThere(post(source, sending));
  if (blob && sent) digests.set(blob, sent.sha256);
  return sent?.sha256;
}

/** Only outside of browsers. */
async function digestOf(source: FileSource, { bytesOf, signal }: Sending): Promise<string | undefined> {
  const hash = globalThis.process?.getBuiltinModule?.('node:crypto').createHash('sha256');
  if (hash) for await (const chunk of bytesOf(source, signal)) hash.update(chunk);
  return hash?.digest('hex');
}

async function post(source: FileSource, sending: Sending): Promise<SentFile> {
  const { connection, signal, onSent, bytesOf, BodyStream, isBrowser, jsonOf, refusals } = sending;
  const url = connection.url('files');
  const request = { method: 'POST', headers: { 'Content-Type': 'application/octet-stream' }, signal };
  if (isBrowser()) {
    const parts = { ...request, body: source.blob!, whenSent: new Promise<never>(() => undefined) };
    if (onSent) return (await upload(connection, url, parts, onSent, sentFileOf, refusals)).value;
    return connection.send(url, parts, jsonOf<SentFile>);
  }
  const body = new BodyStream((left) => bytesOf(source, left), source.size, onSent, signal);
  const parts = { ...request, body: body.stream, whenSent: body.whenSent };
  return connection.send(url, parts, jsonOf<SentFile>).catch((error: unknown) => {
    throw body.failure ?? error;
  });
}

/** Browsers return a response whose headers were cut: without its body. */
function sentFileOf({ readyState, responseText }: Request): SentFile | undefined {
  return readyState === 4 && responseText.endsWith('}') ? (JSON.parse(responseText) as SentFile) : undefined;
}

/** @returns `undefined` where the service has no such path or file */
function ifThere<T>(response: Promise<T>): Promise<T | undefined> {
  return response.catch((error: AgentQueryError) => {
    if (error.status === 404 || error.status === 405) return undefined;
    throw error;
  });
}
