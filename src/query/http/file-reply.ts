import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { validateHeaderValue } from 'node:http';
import { Readable } from 'node:stream';
import { Logger, StreamableFile } from '@nestjs/common';
import { create as contentDisposition } from 'content-disposition';
import parseRange from 'range-parser';
import { QueryError } from '../contract/errors.js';
import { fileExpired } from '../contract/refusals.js';
import { header, type HostRequest, type HostResponse, rawResponse } from '../platform/host.js';
import type { ByteRange } from '../ports/file-store.js';
import type { DownloadedFile } from '../runs/agent.service.js';
import { textForLog } from '../platform/text-for-log.js';
import { holdAnswer } from '../sse/answer-memory.js';

const logger = new Logger('Query');

/**
 * Answers with a file, or with the range of it that the request names (RFC 9110 §14), or with 304 if the caller has it (§13.1.2).
 * A request for several ranges gets the whole file. No browser shows the file as a page of this origin.
 *
 * @throws {QueryError} `range_not_satisfiable` · `file_expired` · `unavailable` · `at_capacity`
 */
export async function fileReply(
  request: HostRequest,
  response: HostResponse,
  file: DownloadedFile,
): Promise<StreamableFile | undefined> {
  const { name, mimeType, size, sha256 } = file;
  const etag = `"${sha256}"`;
  const headers = {
    ETag: etag,
    'Accept-Ranges': 'bytes',
    // The digest names the content for ever. A cache that several callers share must not keep it.
    'Cache-Control': 'private, no-cache',
    'Content-Security-Policy': 'sandbox',
    'X-Content-Type-Options': 'nosniff',
  };
  if (hasCurrent(header(request, 'if-none-match'), etag)) {
    answer(response, 304, headers);
    return undefined;
  }
  const isUnchanged = (header(request, 'if-range') ?? etag) === etag;
  const range = isUnchanged ? rangeOf(header(request, 'range'), size) : undefined;
  const length = range ? range.end - range.start + 1 : size;
  const options = { type: sendable(mimeType), disposition: dispositionOf(name), length };
  if (file.isHeld) holdAnswer(rawResponse(response), size);
  // Opened last: nothing after it throws.
  const body = new StreamableFile(await begun(await file.read(range)), options);
  // What has been sent is not the file: the caller must not take it for one.
  body.setErrorHandler((_, response) => response.destroy?.());
  body.setErrorLogger((error) => logger.warn(`A download was cut: ${textForLog(error.message)}`));
  answer(response, range ? 206 : 200, headers);
  if (range) response.header('Content-Range', `bytes ${range.start}-${range.end}/${size}`);
  return body;
}

function answer(response: HostResponse, status: number, headers: Record<string, string>): void {
  response.status(status);
  for (const [name, value] of Object.entries(headers)) response.header(name, value);
}

/** A store of the host may have kept a type that no header can carry. */
function sendable(mimeType: string): string {
  try {
    validateHeaderValue('Content-Type', mimeType);
    return mimeType;
  } catch {
    return 'application/octet-stream';
  }
}

/** Reads the beginning of a content, so that a content that was removed in this moment is refused in place of cut. */
async function begun(content: AsyncIterable<Uint8Array> | undefined): Promise<Readable> {
  if (!content) throw fileExpired();
  const body = Readable.from(content, { objectMode: false });
  try {
    await once(body, 'readable');
  } catch (error) {
    throw error instanceof QueryError ? error : fileExpired(error);
  }
  return body;
}

/** `Content-Disposition` with the name in both forms (RFC 6266 §4.3): the extended one is of RFC 5987, now RFC 8187. */
function dispositionOf(name: string): string {
  // UTF-8 has no lone surrogates. A mark that turns the direction of text would hide the type of the file.
  const label = Buffer.from(name.replace(/\p{Bidi_C}/gu, '_')).toString();
  const header = contentDisposition(label);
  if (header.includes('filename*=')) return header;
  const escape = (character: string) => `%${character.charCodeAt(0).toString(16)}`;
  return `${header}; filename*=UTF-8''${encodeURIComponent(label).replace(/['()*]/g, escape)}`;
}

/** Whether the caller has the file already: `If-None-Match` names it. */
function hasCurrent(condition = '', etag: string): boolean {
  const names = condition.split(',').map((name) => name.trim().replace(/^W\//, ''));
  return names.includes(etag) || names.includes('*');
}

/** The range that a header names, with inclusive ends. Undefined if there is none, or it is to be ignored. */
function rangeOf(header: string | undefined, size: number): ByteRange | undefined {
  if (header === undefined) return undefined;
  const ranges = parseRange(size, header, { combine: true });
  if (ranges === -1) {
    const detail = `The header Range asks for bytes that do not exist: the file has ${size} bytes.`;
    throw new QueryError('range_not_satisfiable', detail, { size });
  }
  return ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1 ? undefined : ranges[0];
}
