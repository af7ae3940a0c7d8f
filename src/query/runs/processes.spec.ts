import { admissionOf, keptAnswer } from '../../../packages/store-contract/src/opened-store.js';
import { Spool } from '../files/spool.js';
import { eventually } from '../../../test/support/conditions.js';
import { MemoryRunStore } from '../memory/memory-run-store.js';
import { Settings } from '../options/settings.js';
import { Clock } from '../platform/clock.js';
import type { AgentHandler, QueryContext } from '../ports/agent-handler.js';
import type { Signal, SignalReceiver } from '../ports/other-processes.js';
import type { RunRecord } from '../ports/run-store.js';
import { AgentService } from './agent.service.js';

const settings = new Settings({ runs: { stopDeadlineMs: 600_000 } });

/** A store that another process shares, which the test plays. */
class SharedStore extends MemoryRunStore {
  readonly sent: Signal[] = [];
  receiver!: SignalReceiver;
  override readonly signals = {
    isShared: true,
    send: (signal: Signal) => void this.sent.push(signal),
    listen: (receiver: SignalReceiver) => void (this.receiver = receiver),
  };

  override query = () => ({ parts: [], kwargs: {}, answer: keptAnswer(), checkpoint: undefined });
}

/** A store that says how often it is asked for a run, and that sends news of it each time. */
class LookedAtStore extends SharedStore {
  looks = 0;

  override find(owner: string, runId: string): RunRecord | undefined {
    this.looks++;
    setImmediate(() => this.receiver.receive({ type: 'news', runId }, 'other'));
    return super.find(owner, runId);
  }
}

const serviceOn = async (store: MemoryRunStore, handle: AgentHandler['handle'] = async function* () {}) => {
  const agent = new AgentService(store, { handle }, settings, await Spool.open(), new Clock());
  await agent.onApplicationBootstrap();
  return agent;
};

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

describe('The cancellation of a run that another process executes', () => {
  it('looks again as soon as news of the run comes', async () => {
    const store = new LookedAtStore();
    const agent = await serviceOn(store);
    const { run } = store.admit(admissionOf({}));
    const cancelled = agent.cancel(run.owner, run.id);
    // Pauses of 250 ms would take longer than the time limit of a test.
    await eventually(() => store.looks > 400);
    store.end(run, { status: 'cancelled' }, keptAnswer());
    expect((await cancelled).run).toMatchObject({ id: run.id, status: 'cancelled' });
  });

  it('tells the process that asks for it when the run has ended, although nobody follows the run', async () => {
    const store = new SharedStore();
    let context: QueryContext | undefined;
    const agent = await serviceOn(store, async function* (_query, given) {
      context = given;
      yield { type: 'message', data: { content: 'a' } };
      await new Promise((resolve) => given.signal.addEventListener('abort', resolve));
    });
    const { run } = store.admit(admissionOf({ mayStart: false, detached: true }));
    store.receiver.receive({ type: 'ready' }, 'other');
    await eventually(() => context !== undefined);
    store.sent.length = 0;
    store.receiver.receive({ type: 'cancel', runId: run.id }, 'other');
    await eventually(() => store.sent.length > 0);
    expect(store.sent).toEqual([{ type: 'news', runId: run.id }]);
    expect(await agent.find(run.owner, run.id)).toMatchObject({ status: 'cancelled' });
    await agent.onModuleDestroy();
  });
});
