import { type PostgresServer, startPostgres } from '../postgres.js';
import { Cluster, type ClusterOptions } from './cluster.js';
import { faultsOf, faultsOfStop } from './final-check.js';

/** What the tests of a suite share. */
export interface ClusterSuite {
  server: PostgresServer;
  cluster: Cluster;
}

/**
 * Starts a Postgres and a cluster before the tests of a suite. After each test, all runs must have ended, and nothing may be
 * lost or left: see `faultsOf`. After the last one, all processes must end in order.
 *
 * @param members the options of the first processes, by their names
 * @param options those of all processes
 * @param settings lines for `postgresql.conf`
 */
export function clusterSuite(
  members: Record<string, ClusterOptions>,
  options: ClusterOptions = {},
  settings: string[] = [],
): ClusterSuite {
  const suite = {} as ClusterSuite;

  beforeAll(async () => {
    suite.server = await startPostgres(['fsync = off', ...settings]);
    suite.cluster = await Cluster.on(suite.server, options);
    // At the same time: each of them may be the one that creates the tables.
    await Promise.all(Object.entries(members).map(([name, own]) => suite.cluster.add(name, own)));
  });

  afterEach(async () => {
    expect(await faultsOf(suite.cluster)).toEqual([]);
  });

  afterAll(async () => {
    const faults = await faultsOfStop(suite.cluster);
    await suite.cluster.close();
    await suite.server.close();
    expect(faults).toEqual([]);
  });

  return suite;
}
