import type { OutgoingHttpHeaders } from 'node:http';
import { connectionLost } from 'nest-agent-query-client/streams';
import { file, type Envelope, log } from '../../query/index.js';
import { fileNotFetched } from './failures.js';
import type { RemoteService } from './remote-service.js';
import { patientRetries, repeated } from './repeated.js';

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
  const retries = patientRetries();
  for (let offset = 0; ;) {
    const response = await repeated(() => service.file(runId, sha256, offset, headers, signal), {
      signal,
      failureOf: fileNotFetched,
      retries,
    });
    try {
      for await (const bytes of response as AsyncIterable<Uint8Array>) {
        offset += bytes.length;
        retries.attempt = 0;
        yield bytes;
      }
      return;
    } catch (error) {
      if (signal.aborted || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
      await retries.wait(connectionLost('The download was cut.', error), 0, signal);
    }
  }
}
