import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkConformance } from 'nest-agent-query-conformance';
import { openStore } from '../../src/stores/index.js';
import { ROOT } from '../support/documents.js';
import { ADAPTERS } from '../support/host.js';
import { openDatabase, type TestDatabase } from '../support/postgres.js';
import { type Service, startService } from '../support/service.js';
import { startConformantHost, targetAt } from './conformant-host.js';
import { OTHER, OWN } from './owners.js';

let directory: string;
let database: TestDatabase;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'conformance-'));
  database = await openDatabase();
});
afterAll(async () => {
  await rm(directory, { recursive: true });
  await database.close();
});

/** Everything that a service does not pass. */
async function notPassed(url: string) {
  const { results } = await checkConformance(targetAt(url), { waitMs: 20_000 });
  return results.filter(({ outcome }) => outcome !== 'passed');
}

const STORES = {
  memory: (_: string) => 'memory:',
  file: (name: string) => `file:${join(directory, name)}.db`,
  postgres: (name: string) => `${database.url}?schema=${name}`,
};

describe.each(ADAPTERS)('A host on %s', (adapter) => {
  it.each(Object.entries(STORES))('keeps all promises with the store %s', async (_, urlOf) => {
    const host = await startConformantHost(adapter, await openStore(urlOf(`host_${adapter}`)));
    try {
      expect(await notPassed(host.url)).toEqual([]);
    } finally {
      await host.close();
    }
  });
});

/** The standalone service with an agent that is a program. */
function startProgram(command: string, url: string): Promise<Service> {
  const keys = [OWN, OTHER].map(({ configured: { name, sha256 } }) => `${name}:${sha256}`).join(',');
  return startService(
    {
      AGENT: 'command',
      COMMAND: command,
      COMMAND_KEEP_INPUT: 'true',
      DATABASE_URL: url,
      API_KEYS: keys,
      KEEP_ALIVE_MS: '200',
      CONFORMANCE_MARKS: join(directory, 'marks'),
    },
    ROOT,
  );
}

describe.each(['python3 examples/conformance/agent.py', 'perl examples/conformance/agent.pl'])(
  'The service with the program %s',
  (command) => {
    it('keeps all promises', async () => {
      const service = await startProgram(command, 'memory:');
      try {
        expect(await notPassed(service.url)).toEqual([]);
      } finally {
        await service.stop();
      }
    }, 180_000);
  },
);

describe('Two processes on one database, behind a proxy that gives each of them every second connection', () => {
  it('keep all promises', async () => {
    const url = STORES.postgres('two_processes');
    const start = () => startProgram('perl examples/conformance/agent.pl', url);
    const services = [await start(), await start()];
    const proxy = await startProxy(services.map((service) => service.url));
    try {
      expect(await notPassed(proxy.url)).toEqual([]);
      expect(proxy.counts.every((count) => count > 100)).toBe(true);
    } finally {
      await proxy.stop();
      for (const service of services) await service.stop();
    }
  }, 180_000);
});

/** Passes connections on to several services, in turn. */
async function startProxy(urls: string[]) {
  const counts = urls.map(() => 0);
  let next = 0;
  const server = createServer((caller) => {
    const turn = next++ % urls.length;
    counts[turn]!++;
    const { port, hostname } = new URL(urls[turn]!);
    const service = connect(Number(port), hostname);
    caller.pipe(service).pipe(caller);
    for (const [one, other] of [
      [caller, service],
      [service, caller],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.close();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, counts, stop };
}
