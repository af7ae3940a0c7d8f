import type { IncomingHttpHeaders } from 'node:http';
import { parse as parseDisposition } from 'content-disposition';
import { QueryError } from '../contract/errors.js';
import { bareType, faultOfFileName, faultOfMediaType } from '../contract/media-types.js';
import { limitExceeded } from '../contract/refusals.js';
import { BodyContents } from '../files/body-contents.js';
import type { BodyContent } from '../files/content.js';
import type { Spool } from '../files/spool.js';
import type { Transfer } from '../files/transfers.js';
import type { BodyLimits } from '../options/table.js';
import { FORM_BYTES, MultipartFile } from './multipart-file.js';
import { type BodyRequest, receiveBytes } from './request-bytes.js';

/** A file that was sent without a query. */
export interface ReadFile {
  name: string;
  mimeType: string;
  content: BodyContent;
  /** Frees the content. Can be called again. */
  discard(): Promise<void>;
}

/**
 * Refuses a file because of the length of its body alone, before a byte of it is read.
 *
 * @throws {QueryError} `limit_exceeded`
 */
export function refuseFileByLength(headers: IncomingHttpHeaders, { fileBytes }: BodyLimits): void {
  const isEncoded = headers['content-encoding'] !== undefined;
  const longest = fileBytes + (isForm(headers) ? FORM_BYTES : 0);
  if (!isEncoded && Number(headers['content-length']) > longest) throw limitExceeded('fileBytes', fileBytes);
}

/**
 * Reads a file as it arrives: the bytes of a body, or the only file of a form. `Content-Encoding` is undone. The limits are those
 * of a query.
 *
 * After a rejection no content, file, timer or listener is left, and the request is paused where it was.
 *
 * @param transfer counts the bytes
 * @throws {QueryError} `invalid_query` · `limit_exceeded` · `unsupported_encoding` · `body_timeout` · `storage_full` · `rate_limited`
 * @throws {BodyAborted} if the sender left
 */
export async function readFile(
  request: BodyRequest,
  limits: BodyLimits,
  spool: Spool,
  transfer: Transfer,
): Promise<ReadFile> {
  const { headers } = request;
  const contents = new BodyContents(limits, spool, transfer);
  try {
    const sent = isForm(headers) ? new MultipartFile(headers, contents) : new BareFile(headers, contents);
    if (sent instanceof BareFile) checkLabels(sent);
    await receiveBytes(request, limits.idleMs, (bytes) => sent.take(bytes), 'invalid_query');
    await sent.end();
    const { name, mimeType } = checkLabels(sent);
    const content = sent.writer!.finish();
    await contents.settled();
    spool.receive(content.size);
    const discard = async () => {
      await content.discard();
      await contents.discard();
    };
    return { name, mimeType, content, discard };
  } catch (error) {
    await contents.discard().catch(() => undefined);
    throw error;
  }
}

/** A file whose bytes are the body. */
class BareFile {
  readonly name: string | undefined;
  readonly mimeType: string | undefined;
  readonly writer;

  constructor(
    headers: IncomingHttpHeaders,
    private readonly contents: BodyContents,
  ) {
    this.mimeType = headers['content-type'];
    // RFC 6266, in either of its forms.
    this.name = parseDisposition(headers['content-disposition'] ?? '').parameters['filename'];
    this.writer = contents.begin();
  }

  take(bytes: Buffer): Promise<void> | undefined {
    this.writer.add(bytes);
    return this.contents.isCongested ? this.contents.settled() : undefined;
  }

  end(): void {}
}

function isForm(headers: IncomingHttpHeaders): boolean {
  return bareType(headers['content-type'] ?? '') === 'multipart/form-data';
}

/** The name and the type of a file, with their defaults. @throws {QueryError} `invalid_query` */
function checkLabels(sent: { name: string | undefined; mimeType: string | undefined }): {
  name: string;
  mimeType: string;
} {
  const { name = 'file', mimeType = 'application/octet-stream' } = sent;
  const [nameFault, typeFault] = [faultOfFileName(name), faultOfMediaType(mimeType)];
  if (nameFault !== undefined)
    throw new QueryError('invalid_query', `The name of the file in Content-Disposition ${nameFault}.`);
  if (typeFault !== undefined)
    throw new QueryError('invalid_query', `The type of the file in Content-Type ${typeFault}.`);
  return { name, mimeType };
}
