import { Buffer } from 'node:buffer';
import type { CallToolRequest, ProgressToken, RequestId } from '@modelcontextprotocol/server';
import { header, type HostRequest, rawRequest } from 'nest-agent-query/protocol';

/** Where the stream of a call goes on for a client of the version 2025-11-25. Any process can read it: nothing is kept of a stream. */
export interface CallCursor {
  runId: string;
  /** The number of the last envelope with questions that the client was asked; 0 if there is none. */
  asked: number;
  /** How the client names the call in its answer, and in notifications of progress. */
  requestId: RequestId;
  progressToken?: ProgressToken | undefined;
}

/** The first version that has events with an id and no data, and so responses that can be resumed. */
const RESUMES = '2025-11-25';

/** Longer ids would not fit into the header of a request. Characters. */
const ID_LENGTH = 1024;

/** The id of an event after which a stream goes on; undefined if this client cannot resume it. */
export function eventIdOf(cursor: CallCursor, request: HostRequest): string | undefined {
  if ((header(request, 'mcp-protocol-version') ?? '') < RESUMES) return undefined;
  const { runId, asked, requestId, progressToken } = cursor;
  const names = Buffer.from(JSON.stringify([requestId, progressToken])).toString('base64url');
  const id = `${runId}.${asked}.${names}`;
  return id.length > ID_LENGTH ? undefined : id;
}

/** Reads `Last-Event-ID`, or the parameter `lastEventId`. Undefined if it is not the id of an event of a call. */
export function callCursorOf(request: HostRequest): CallCursor | undefined {
  const { searchParams } = new URL(rawRequest(request).url ?? '', 'http://localhost');
  const given = header(request, 'last-event-id') || searchParams.get('lastEventId') || '';
  const [, runId, asked, names] = /^([\w-]{1,100})\.(\d{1,15})\.([\w-]+)$/.exec(given) ?? [];
  if (runId === undefined) return undefined;
  const [requestId, progressToken] = namesIn(names!);
  if (!isName(requestId)) return undefined;
  return { runId, asked: Number(asked), requestId, ...(isName(progressToken) && { progressToken }) };
}

/** The message in place of the one whose response was cut: the SDK answers it with the rest. */
export function resumingMessage({ requestId: id, progressToken, runId }: CallCursor) {
  const params: CallToolRequest['params'] = {
    name: runId,
    ...(progressToken !== undefined && { _meta: { progressToken } }),
  };
  return { jsonrpc: '2.0', id, method: 'tools/call', params };
}

function namesIn(text: string): unknown[] {
  try {
    const names: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(names) ? names : [];
  } catch {
    return [];
  }
}

function isName(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}
