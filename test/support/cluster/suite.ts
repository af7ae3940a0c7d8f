import { openDatabase, type PostgresServer, startPostgres, type TestDatabase } from '../postgres.js';
import { Cluster, type ClusterOptions } from './cluster.js';
import { faultsOf, faultsOfStop } from './final-check.js';

/** What the tests of a suite share. */
export interface ClusterSuite {
  /** The server of the suite, if it has one of its own. */
  server: PostgresServer;
  cluster: Cluster;
}

/**
 * Starts a cluster before the tests of a suite. After each test, all runs must have ended, and nothing may be
 * lost or left: see `faultsOf`. After the last one, all processes must end in order.
 *
 * @param members the options of the first processes, by their names
 * @param options those of all processes
 * @param settings lines for `postgresql.conf`, for a suite that stops its server or needs another. Default: a database of the
 *   server that all suites share
 */
export function clusterSuite(
  members: Record<string, ClusterOptions>,
  options: ClusterOptions = {},
  settings?: string[],
): ClusterSuite {
  const suite = {} as ClusterSuite;
  let database: TestDatabase;

  beforeAll(async () => {
    if (settings) database = suite.server = await startPostgres(['fsync = off', ...settings]);
    else database = await openDatabase();
    suite.cluster = await Cluster.on(database, options);
    // At the same time: each of them may be the one that creates the tables.
    await Promise.all(Object.entries(members).map(([name, own]) => suite.cluster.add(name, own)));
  });

  afterEach(async () => {
    expect(await faultsOf(suite.cluster)).toEqual([]);
  });

  afterAll(async () => {
    const faults = await faultsOfStop(suite.cluster);
    await suite.cluster.close();
    await database.close();
    expect(faults).toEqual([]);
  });

  return suite;
}
