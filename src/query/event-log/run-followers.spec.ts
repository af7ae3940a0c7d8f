import { once } from 'node:events';
import { Signals } from '../ports/signals.js';
import { FollowerGroups } from './run-followers.js';

/** Signals to other processes that all get lost. */
class LostSignals extends Signals {
  readonly isShared = true;

  send(): void {}

  async listen(): Promise<void> {}

  async close(): Promise<void> {}
}

describe('The followers of a run that another process executes', () => {
  it('read on when one of them finds that the run has ended, although no signal has come', async () => {
    const group = new FollowerGroups(new LostSignals()).of('r');
    const told = new EventTarget();
    const follower = {
      ...{ isCaller: true, offset: 0, disconnect: () => undefined },
      notify: () => void told.dispatchEvent(new Event('notified')),
    };
    group.join(follower);
    const notified = once(told, 'notified');
    group.end();
    await notified;
    group.leave(follower);
    expect(group.isUnused).toBe(true);
  });
});
