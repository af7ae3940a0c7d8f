import { rm } from 'node:fs/promises';
import { promise } from '../../promises.js';
import { openDatabase, type TestDatabase } from '../../support/postgres.js';
import { serve, type Service, type SharedService, startService } from '../../support/service.js';
import {
  directoryWithAgents,
  expectOwnAgents,
  expectRestart,
  settings,
} from '../../support/several-agents.js';

describe('A process with several agents', () => {
  let postgres: TestDatabase;
  let environment: Record<string, string>;
  let home: string;
  let other: Service;
  const services: SharedService[] = [];

  beforeAll(async () => {
    postgres = await openDatabase();
    environment = { DATABASE_URL: postgres.url, MAX_RUNNING: '1' };
    home = await directoryWithAgents();
    other = await startService(settings(environment), home);
  });

  afterAll(async () => {
    await Promise.all([other, ...services].map((service) => service.stop()));
    await rm(home, { recursive: true });
    await postgres.close();
  });

  async function start(variables: Record<string, string>): Promise<SharedService> {
    const service = await serve(settings(variables), home);
    services.push(service);
    return service;
  }

  it(promise('service.agents', 'each process gives runs to their own agent: signals'), () =>
    expectOwnAgents(environment, start),
  );

  // The process that has executed runs of others is killed.
  it(promise('service.agents', 'a restart gives each run to its own agent'), () =>
    expectRestart(other, environment, start),
  );
});
