import { clusterSuite } from '../../support/cluster/suite.js';
import { promise } from '../../promises.js';

const LIMIT = 3;

describe('The limit of an owner, over three processes', () => {
  const runs = { maxRunning: 5, maxRunningPerOwner: LIMIT };
  const suite = clusterSuite({ a: {}, b: {}, c: {} }, { runs });

  it(promise('owners.processes'), async () => {
    const { cluster } = suite;
    const callers = Array.from({ length: 90 }, (_, index) => {
      const session = index % 5 === 0 ? { session: `s${index % 10}` } : {};
      const member = cluster.members[index % 3]!;
      return cluster.ask(member, { steps: [{ gate: 'full' }, { emit: 2, everyMs: 5 }], ...session });
    });
    // As many as may execute wait for each other.
    await cluster.gates.reached('full', LIMIT);
    cluster.gates.open('full');
    await Promise.all(callers.map((caller) => caller.ended));
    let executing = 0;
    let most = 0;
    const executions = await cluster.executions();
    for (const { what } of executions) {
      executing += what === 'called' ? 1 : -1;
      most = Math.max(most, executing);
    }
    expect(executions.filter(({ what }) => what === 'called')).toHaveLength(90);
    expect(new Set(executions.map(({ process }) => process)).size).toBeGreaterThan(1);
    expect(most).toBe(LIMIT);
  });
});
