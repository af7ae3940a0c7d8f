import { checkConformance, type Extent, LEVELS, PROMISES, type Report } from 'nest-agent-query-conformance';
import { ONE_ADAPTER } from '../support/host.js';
import { type ConformantHost, startConformantHost, targetAt } from './conformant-host.js';
import { type Deferred, deferred } from '../support/conditions.js';
import { type Defect } from './defects/defect.js';
import { DefectiveService, type Wrong } from './defective-service.js';
import { OF_METADATA } from './defects/metadata.js';
import { OF_RUNS } from './defects/runs.js';
import { OF_STREAMS } from './defects/streams.js';
import { OF_UPLOADS } from './defects/uploads.js';

const DEFECTS = [...OF_STREAMS, ...OF_RUNS, ...OF_UPLOADS, ...OF_METADATA];

/** How many services are checked at the same time: some checks wait for what never comes. Each has a host of its own. */
const AT_ONCE = 6;

/** Checks a promise of a service with a defect, or all promises. */
async function check(host: ConformantHost, wrong: Wrong, extent: Extent): Promise<Report['results']> {
  const service = await DefectiveService.before(host.url, wrong);
  try {
    return (await checkConformance(targetAt(service.url), extent)).results;
  } finally {
    await service.stop();
  }
}

describe('A service with one defect', () => {
  const found = new Map<Defect, Deferred<Report['results']>>(DEFECTS.map((defect) => [defect, deferred()]));
  const withoutDefect = deferred<Report['results']>();
  let hosts: ConformantHost[];
  let checks: Promise<unknown>;
  beforeAll(async () => {
    hosts = await Promise.all(Array.from({ length: AT_ONCE }, () => startConformantHost(ONE_ADAPTER)));
    const left = found.entries();
    checks = Promise.all(
      hosts.map(async (host, index) => {
        if (index === 0) withoutDefect.resolve(await check(host, {}, { waitMs: 10_000 }));
        for (const [[id, , wrong], results] of left)
          results.resolve(await check(host, wrong, { only: [id], waitMs: 3_000 }));
      }),
    );
  });
  afterAll(async () => {
    await checks;
    for (const host of hosts) await host.close();
  });

  it.each(DEFECTS.map((defect) => [...defect, defect] as const))(
    'breaks %s: it %s',
    async (id, _title, _wrong, defect) => {
      const results = await Promise.race([found.get(defect)!.promise, checks]);
      expect(results).toMatchObject([{ id, outcome: 'failed' }]);
    },
  );

  it('is known by its promise, and every level has some', () => {
    const ids = PROMISES.map(({ id }) => id);
    expect(DEFECTS.filter(([id]) => !ids.includes(id))).toEqual([]);
    expect(new Set(DEFECTS.map(([id]) => id.split('.')[0]))).toEqual(new Set(Object.keys(LEVELS)));
  });

  it('keeps every promise without its defect', async () => {
    const [results] = await Promise.all([withoutDefect.promise, checks]);
    expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  });
});
