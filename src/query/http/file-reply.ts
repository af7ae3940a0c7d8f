import type { Buffer } from 'node:buffer';
import { StreamableFile } from '@nestjs/common';
import parseRange from 'range-parser';
import { QueryError } from '../contract/errors.js';
import { header, type HostRequest } from '../platform/host.js';
import { Reply } from '../platform/reply.js';

/** A file that a caller downloads. */
export interface Download {
  content: Buffer;
  /** The name that a browser saves it under: ASCII without quotes. */
  name: string;
  mimeType: string;
  /** The digest of the content, which names the file for ever. */
  sha256: string;
}

/**
 * Answers with a file, or with the range of it that the request asks for (RFC 9110 §14). A request for several ranges gets the
 * whole file. No browser shows the file as a page of this origin.
 *
 * @throws {QueryError} `range_not_satisfiable`
 */
export function fileReply(request: HostRequest, { content, name, mimeType, sha256 }: Download): Reply {
  const etag = `"${sha256}"`;
  const headers = {
    ETag: etag,
    'Accept-Ranges': 'bytes',
    'Content-Security-Policy': 'sandbox',
    'X-Content-Type-Options': 'nosniff',
  };
  const condition = header(request, 'if-range');
  const asked = condition === undefined || condition === etag ? header(request, 'range') : undefined;
  const range = asked === undefined ? undefined : rangeOf(asked, content.length);
  const sent = range ? content.subarray(range.start, range.end + 1) : content;
  const body = new StreamableFile(sent, {
    type: mimeType,
    disposition: `attachment; filename="${name}"`,
    length: sent.length,
  });
  if (!range) return new Reply(200, body, headers);
  const contentRange = `bytes ${range.start}-${range.end}/${content.length}`;
  return new Reply(206, body, { ...headers, 'Content-Range': contentRange });
}

/** The range that a header asks for, with inclusive ends. Undefined if the header is to be ignored. */
function rangeOf(header: string, size: number): { start: number; end: number } | undefined {
  const ranges = parseRange(size, header, { combine: true });
  if (ranges === -1) {
    const detail = `The header Range asks for bytes that do not exist: the file has ${size} bytes.`;
    throw new QueryError('range_not_satisfiable', detail, { size });
  }
  return ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1 ? undefined : ranges[0];
}
