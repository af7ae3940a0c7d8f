import type { Envelope, RunView } from 'nest-agent-query-client';
import type { Observable } from 'rxjs';
import { RunStream } from '../event-log/run-stream.js';
import type { HostResponse } from '../platform/host.js';

/**
 * Answers 202 as soon as a run is admitted, for a caller who does not wait for the answer (`Prefer: respond-async`, RFC 7240 §4.1).
 */
export async function acceptedRun(
  envelopes: Observable<Envelope>,
  path: string,
  response: HostResponse,
): Promise<RunView | undefined> {
  const { run } = await RunStream.from(envelopes).admitted;
  response.status(202);
  response.header('Preference-Applied', 'respond-async');
  if (run) response.header('Location', `${path}/${run.id}`);
  return run;
}
