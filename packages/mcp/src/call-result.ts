import type { Buffer } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { type AgentService, type FileEnvelope, QueryError, type RunEnd } from 'nest-agent-query';
import { header, heldLength, holdAnswer, type HostRequest, rawResponse } from 'nest-agent-query/protocol';
import type { CallLog, Piece } from './call-log.js';
import type { Exchange } from './exchange.js';

/** Files up to this size are in the result itself; of larger ones it has a link, which needs the same credentials. Bytes. */
const INLINE_BYTES = 1024 * 1024;

const TEXT = /^text\/|^application\/(?:json|xml)\b|\+(?:json|xml)\b/;

/** Whose run it is, and how the caller reaches the service. */
export interface ResultSource {
  agent: AgentService;
  owner: string;
  runId: string;
  exchange: Exchange;
}

/**
 * The result of a call whose run has ended.
 *
 * @throws {QueryError} `at_capacity`: its files would take too much memory
 */
export async function callResult(log: CallLog, source: ResultSource): Promise<CallToolResult> {
  const content: ContentBlock[] = [];
  let { held } = log;
  for (const piece of log.pieces) {
    const block = await blockOf(piece, source);
    content.push(block);
    // The JSON of the answer has another copy.
    held += 2 * heldLength(block);
    holdAnswer(rawResponse(source.exchange.response), held);
  }
  const { result, end } = log;
  // Programs that know no structured results read this.
  if (result && !content.some(({ type }) => type === 'text'))
    content.push({ type: 'text', text: JSON.stringify(result.value) });
  return {
    ...endedResult(content, result, end && failureOf(end)),
    _meta: {
      runId: source.runId,
      ...(end?.status === 'failed' && { code: end.error.code }),
    },
  };
}

/** @param failure why the run has no answer; undefined if it has one */
function endedResult(content: ContentBlock[], result: CallLog['result'], failure?: string): CallToolResult {
  if (failure === undefined) return { content, ...(result && { structuredContent: result.value }) };
  // Some clients show the first text only, or the structured content in place of all texts.
  return { content: [{ type: 'text', text: failure }, ...content], isError: true };
}

/** The result of a call that is refused, or cannot go on. Models read it, and can do something else. */
export function refusedResult({ code, detail, extras }: QueryError): CallToolResult {
  const { errors, retryAfter } = extras;
  const faults = (errors ?? []).slice(1).map(({ pointer, detail: what }) => `"${pointer}" ${what}.`);
  const wait = retryAfter === undefined ? [] : [`Try again in ${retryAfter} s.`];
  return {
    content: [{ type: 'text', text: [detail, ...faults, ...wait].join('\n') }],
    isError: true,
    _meta: { code, ...(retryAfter !== undefined && { retryAfter }) },
  };
}

function failureOf(end: RunEnd): string | undefined {
  if (end.status === 'completed') return undefined;
  return end.status === 'failed' ? end.error.message : 'The run was cancelled.';
}

async function blockOf(piece: Piece, source: ResultSource): Promise<ContentBlock> {
  if (piece.type === 'text') return { type: 'text', text: source.exchange.longTexts.markOf(piece.text) };
  if (piece.type === 'file') return fileBlock(piece.file, source);
  const { url, title = url } = piece.source;
  return { type: 'resource_link', uri: url, name: title };
}

async function fileBlock(file: FileEnvelope['data'], source: ResultSource): Promise<ContentBlock> {
  const { name, mimeType, size, path } = file;
  const uri = addressOf(path, source.exchange.request);
  const bytes = size <= INLINE_BYTES ? await contentOf(file, source) : undefined;
  if (!bytes) return { type: 'resource_link', uri, name, mimeType, size };
  const [kind] = mimeType.split('/');
  if (TEXT.test(mimeType)) return { type: 'resource', resource: { uri, mimeType, text: bytes.toString() } };
  const base64 = bytes.toString('base64');
  if (kind === 'image' || kind === 'audio') return { type: kind, data: base64, mimeType };
  return { type: 'resource', resource: { uri, mimeType, blob: base64 } };
}

/** The content of a file; undefined if it is no longer kept. */
async function contentOf(
  { sha256 }: FileEnvelope['data'],
  { agent, owner, runId }: ResultSource,
): Promise<Buffer | undefined> {
  try {
    const file = await agent.file(owner, runId, sha256);
    const chunks = await file.read();
    return chunks && (await buffer(chunks));
  } catch (error) {
    if (error instanceof QueryError && error.code === 'not_found') return undefined;
    throw error;
  }
}

function addressOf(path: string, request: HostRequest): string {
  const { protocol = 'http' } = request as { protocol?: string };
  return `${protocol}://${header(request, 'host') ?? 'localhost'}${path}`;
}
