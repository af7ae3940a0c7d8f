import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkConformance } from 'nest-agent-query-conformance';
import { openStore } from '../../src/stores/index.js';
import { ROOT } from '../support/documents.js';
import { ONE_ADAPTER } from '../support/host.js';
import { describeInLongForm, itInLongForm, STORE_KINDS } from '../support/long-form.js';
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

/** The stores of a single host. Two hosts have Postgres in the short form too. */
const STORES_OF_ONE = STORE_KINDS.filter((store) => store !== 'postgres' || STORE_KINDS.length > 2);

interface Started {
  url: string;
  stop(): Promise<unknown>;
}

async function startHost(url: string): Promise<Started> {
  const host = await startConformantHost(ONE_ADAPTER, await openStore(url), join(directory, 'marks'));
  return { url: host.url, stop: () => host.close() };
}

describe(`A host on ${ONE_ADAPTER}`, () => {
  it.each(STORES_OF_ONE)('keeps all promises with the store %s', async (store) => {
    const host = await startHost(STORES[store]('host'));
    try {
      expect(await notPassed(host.url)).toEqual([]);
    } finally {
      await host.stop();
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

// test/e2e/command-agent.spec.ts has agents that are programs, and the hosts of this suite all promises.
describeInLongForm.each(['python3 examples/conformance/agent.py', 'perl examples/conformance/agent.pl'])(
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

describe('On one database, behind a proxy that gives each of them every second connection,', () => {
  const keepsAll = async (start: (url: string) => Promise<Started>) => {
    const url = STORES.postgres('two');
    const services = await Promise.all([start(url), start(url)]);
    const proxy = await startProxy(services.map((service) => service.url));
    try {
      expect(await notPassed(proxy.url)).toEqual([]);
      expect(proxy.counts.every((count) => count > 100)).toBe(true);
    } finally {
      await proxy.stop();
      for (const service of services) await service.stop();
    }
  };

  it('two hosts keep all promises', () => keepsAll(startHost), 180_000);

  // Hosts have the same code: test/e2e/cluster has what concerns their processes.
  itInLongForm(
    'two processes keep all promises',
    () => keepsAll((url) => startProgram('perl examples/conformance/agent.pl', url)),
    180_000,
  );
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
