import type { OutgoingHttpHeaders } from 'node:http';
import { file, type Envelope, log } from '../../query/index.js';
import { Cut } from './cut.js';
import { fileNotFetched, unreachable } from './failures.js';
import { isTransient } from './refusal.js';
import type { RemoteService } from './remote-service.js';
import { retryAfterMs, waitBefore } from './waiting.js';

const DIGEST = /^[0-9a-f]{64}$/;

/**
 * A file of the remote answer, as this service stores it. Its content is fetched while it is stored.
 *
 * @param envelope as the remote service sent it
 * @param runId the remote run; undefined where the remote service keeps none
 */
export function remoteFile(
  { data }: Envelope,
  service: RemoteService,
  runId: string | undefined,
  headers: OutgoingHttpHeaders,
  signal: AbortSignal,
): Envelope {
  const { name, mimeType, sha256 } = (data ?? {}) as Record<string, unknown>;
  if (runId === undefined || typeof sha256 !== 'string' || !DIGEST.test(sha256)) {
    return log('The remote agent has produced a file, but has no way to fetch it.');
  }
  return file({
    name: name as string,
    mimeType: mimeType as string,
    content: contentOf(service, runId, sha256, headers, signal),
  });
}

/** The bytes of a remote file. A download that is cut goes on where it was cut. */
async function* contentOf(
  service: RemoteService,
  runId: string,
  sha256: string,
  headers: OutgoingHttpHeaders,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let offset = 0;
  for (let tries = 1; ; tries += 1) {
    let waitMs = 0;
    try {
      const response = await service.file(runId, sha256, offset, headers, signal);
      const status = response.statusCode!;
      if (status === (offset > 0 ? 206 : 200)) {
        for await (const bytes of response as AsyncIterable<Uint8Array>) {
          offset += bytes.length;
          tries = 1;
          yield bytes;
        }
        return;
      }
      waitMs = retryAfterMs(response.headers['retry-after']);
      const { error } = await service.refusal(response);
      if (status !== 429 && !isTransient(status)) throw fileNotFetched(status, error.cause);
    } catch (error) {
      if (signal.aborted || !isCut(error)) throw error;
      if (error instanceof Cut && error.isFinal) throw unreachable(error);
    }
    await waitBefore(tries, waitMs, signal);
  }
}

/** Whether the connection was cut: before the response, or in the middle of it. */
function isCut(error: unknown): boolean {
  return error instanceof Cut || (error as NodeJS.ErrnoException).code === 'ECONNRESET';
}
