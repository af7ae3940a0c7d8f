import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UseGuards } from '@nestjs/common';
import { endpointOf, type Target } from 'nest-agent-query-conformance';
import { ConformanceAgent } from '../../examples/conformance/agent.js';
import { AccessGuard, AccessModule, ownerOf } from '../../src/access/index.js';
import { QueryModule, type RunStore } from '../../src/index.js';
import { type AdapterName, startHost } from '../support/host.js';
import { OTHER, OWN } from './owners.js';

/** A host whose agent follows scripts. It has two owners. */
export interface ConformantHost {
  url: string;
  close(): Promise<void>;
}

/**
 * Starts a host on a free port.
 *
 * @param marks the folder of the marks of its agent, which hosts on one database share; by default one of its own
 */
export async function startConformantHost(
  adapter: AdapterName,
  store?: RunStore,
  marks?: string,
): Promise<ConformantHost> {
  const directory = marks ?? (await mkdtemp(join(tmpdir(), 'conformance-marks-')));
  const query = QueryModule.forRoot({
    handler: new ConformanceAgent(directory),
    ...(store && { store }),
    runs: { drainMs: 0 },
    streams: { keepAliveMs: 100 },
    decorators: [UseGuards(AccessGuard)],
    owner: ownerOf,
  });
  const access = AccessModule.forRoot({ keys: [OWN.configured, OTHER.configured] });
  class GuardedModule {}
  const host = await startHost(adapter, { module: GuardedModule, imports: [access, query] });
  const close = async () => {
    await host.close();
    if (marks === undefined) await rm(directory, { recursive: true });
  };
  return { url: host.url, close };
}

/** A service with the keys of both owners. */
export function targetAt(url: string): Required<Target> {
  const headersOf = ({ key }: typeof OWN) => ({ authorization: `Bearer ${key}` });
  return { endpoint: endpointOf(url), headers: headersOf(OWN), otherHeaders: headersOf(OTHER) };
}
