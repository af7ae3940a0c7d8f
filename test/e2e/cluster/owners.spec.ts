import { clusterSuite } from '../../support/cluster/suite.js';
import { promise } from '../../promises.js';

const LIMIT = 3;

describe('The limit of an owner, over three processes', () => {
  const suite = clusterSuite({ a: {}, b: {}, c: {} }, { runs: { maxRunning: 5, maxRunningPerOwner: LIMIT } });

  it(
    promise('owners.processes'),
    async () => {
      const { cluster } = suite;
      const members = cluster.members;
      const callers = Array.from({ length: 90 }, (_, index) => {
        const kwargs = index % 5 === 0 ? { session_id: `s${index % 10}` } : {};
        return cluster.ask(members[index % 3]!, { steps: [{ emit: 2, everyMs: 5 }], ...kwargs });
      });
      await Promise.all(callers.map((caller) => caller.ended));
      let executing = 0;
      let most = 0;
      const executions = await cluster.executions();
      for (const { what } of executions) {
        executing += what === 'called' ? 1 : -1;
        most = Math.max(most, executing);
      }
      expect(executions.filter(({ what }) => what === 'called')).toHaveLength(90);
      expect(new Set(executions.map(({ process }) => process)).size).toBe(3);
      expect(most).toBe(LIMIT);
    },
    60_000,
  );
});
