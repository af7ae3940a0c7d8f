import { checkConformance, LEVELS, PROMISES } from 'nest-agent-query-conformance';
import { ONE_ADAPTER } from '../support/host.js';
import { type ConformantHost, startConformantHost, targetAt } from './conformant-host.js';
import { DefectiveService } from './defective-service.js';
import { OF_METADATA } from './defects/metadata.js';
import { OF_RUNS } from './defects/runs.js';
import { OF_STREAMS } from './defects/streams.js';
import { OF_UPLOADS } from './defects/uploads.js';

const DEFECTS = [...OF_STREAMS, ...OF_RUNS, ...OF_UPLOADS, ...OF_METADATA];

describe('A service with one defect', () => {
  let host: ConformantHost;
  beforeAll(async () => (host = await startConformantHost(ONE_ADAPTER)));
  afterAll(() => host.close());

  it.each(DEFECTS)('breaks %s: it %s', async (id, _title, wrong) => {
    const service = await DefectiveService.before(host.url, wrong);
    try {
      const { results } = await checkConformance(targetAt(service.url), { only: [id], waitMs: 3_000 });
      expect(results).toMatchObject([{ id, outcome: 'failed' }]);
    } finally {
      await service.stop();
    }
  });

  it('is known by its promise, and every level has some', () => {
    const ids = PROMISES.map(({ id }) => id);
    expect(DEFECTS.filter(([id]) => !ids.includes(id))).toEqual([]);
    expect(new Set(DEFECTS.map(([id]) => id.split('.')[0]))).toEqual(new Set(Object.keys(LEVELS)));
  });

  it('keeps every promise without its defect', async () => {
    const service = await DefectiveService.before(host.url, {});
    try {
      const { results } = await checkConformance(targetAt(service.url), { waitMs: 10_000 });
      expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
    } finally {
      await service.stop();
    }
  });
});
