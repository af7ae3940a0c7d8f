/**
 * Executes several processes of the service on one Postgres, disturbs them, and checks that nothing is lost:
 *
 *     npm run build && node test/chaos/cluster.mjs [--processes 3] [--rounds 5] [--lease 8000] [--seed 1]
 *     node test/chaos/cluster.mjs --faults kill,freeze      # these faults only
 *     node test/chaos/cluster.mjs --restarts 200            # runs that continue after so many kills, see restarts.ts
 *     node test/chaos/cluster.mjs --restarts 50 --file      # the same with one process on a file
 *     node test/chaos/cluster.mjs --from <commit>           # two processes of that version are replaced, see deploy.ts
 *
 * Each fault strikes `--rounds` times while callers use all of the service, at all processes. After each time, every run must
 * have ended with one `done`, executed once, with what its callers have received, at all processes; its numbers have no
 * gaps; each session answers; no row of a run is left open. The clocks of the processes differ by minutes. Printed are how
 * long callers waited for the end of a run that was interrupted (`done`), for the next event after their stream was cut
 * (`resume`), and for a cancel (`cancel`). The exit code is 1 if a check fails.
 */
import { register } from 'node:module';
import { parseArgs } from 'node:util';

register('../support/typescript-hooks.mjs', import.meta.url);
const { FAULTS } = await import('./cluster/faults.ts');
const { tryFaults } = await import('./cluster/main.ts');
const { deployOver } = await import('./cluster/deploy.ts');
const { killAgain } = await import('./cluster/restarts.ts');

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    lease: { type: 'string', default: '8000' },
    seed: { type: 'string', default: '1' },
    faults: { type: 'string', default: Object.keys(FAULTS).join(',') },
    restarts: { type: 'string' },
    from: { type: 'string' },
    file: { type: 'boolean', default: false },
  },
});
const plan = {
  processes: Number(values.processes),
  rounds: Number(values.rounds),
  leaseMs: Number(values.lease),
  seed: Number(values.seed),
  faults: values.faults.split(','),
};
const failures = await execute();
console.log(failures.length === 0 ? 'nothing was lost' : `${failures.length} failures`);
process.exitCode = failures.length === 0 ? 0 : 1;

function execute() {
  if (values.from) return deployOver(values.from, plan.leaseMs);
  if (values.restarts) return killAgain({ ...plan, kills: Number(values.restarts), isFile: values.file });
  return tryFaults(plan);
}
