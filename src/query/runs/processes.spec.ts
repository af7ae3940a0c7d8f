import { admissionOf } from '../../../packages/store-contract/src/opened-store.js';
import { Spool } from '../files/spool.js';
import { MemoryRunStore } from '../memory/memory-run-store.js';
import { Settings } from '../options/settings.js';
import { Clock } from '../platform/clock.js';
import { AgentService } from './agent.service.js';

/** A store that cannot end a run at present, although the run waits. */
class BusyStore extends MemoryRunStore {
  isBusy = true;

  override end(...args: Parameters<MemoryRunStore['end']>) {
    return this.isBusy ? undefined : super.end(...args);
  }
}

describe('The cancellation of a run that waits elsewhere', () => {
  it('lets other work go on between two attempts', async () => {
    const store = new BusyStore();
    const { run } = store.admit(admissionOf({ mayStart: false }));
    const settings = new Settings({ runs: { stopDeadlineMs: 0 } });
    const handle = async function* () {};
    const agent = new AgentService(store, { handle }, settings, await Spool.open(), new Clock());
    setTimeout(() => (store.isBusy = false));
    const cancelled = await agent.cancel(run.owner, run.id);
    expect(cancelled.run).toMatchObject({ id: run.id, status: 'cancelled' });
  });
});
