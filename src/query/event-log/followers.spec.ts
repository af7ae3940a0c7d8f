import { once } from 'node:events';
import { eventuallyElsewhere } from '../../../test/support/conditions.js';
import { type Signal, Signals } from '../ports/other-processes.js';
import { FollowerGroups } from './follower-groups.js';

/** Signals to other processes that all get lost. */
class LostSignals extends Signals {
  readonly isShared = true;

  send(): void {}

  async listen(): Promise<void> {}

  async close(): Promise<void> {}
}

/** The signals of a process that receives none. */
class LateSignals extends LostSignals {
  override readonly trouble = 'Signals do not arrive.';
  readonly sent: Signal[] = [];

  override send(signal?: Signal): void {
    this.sent.push(signal!);
  }
}

const STORE = {
  signals: new LostSignals(),
  read: () => Promise.reject(new Error('Nothing is read.')),
  find: () => Promise.resolve(undefined),
};

const RUN = { id: 'r', owner: 'ann', sessionId: undefined };

describe('The followers of a run that another process executes', () => {
  it('read on when one of them finds that the run has ended, although no signal has come', async () => {
    const groups = new FollowerGroups(STORE);
    const group = groups.of(RUN);
    const told = new EventTarget();
    const follower = {
      ...{ offset: 0, disconnect: () => undefined, offer: () => undefined },
      notify: () => void told.dispatchEvent(new Event('notified')),
    };
    group.join(follower);
    const notified = once(told, 'notified');
    group.end();
    await notified;
    group.leave(follower);
    expect(groups.get(RUN.id)).toBeUndefined();
  });

  it('look at the log more often while signals do not arrive', async () => {
    const looks = [STORE, { ...STORE, signals: new LateSignals() }].map((store) => {
      const group = new FollowerGroups(store).of(RUN);
      const seen = { count: 0, leave: () => group.leave(follower) };
      const follower = {
        ...{ offset: 0, disconnect: () => undefined, offer: () => undefined },
        notify: () => void seen.count++,
      };
      group.join(follower);
      return seen;
    });
    await eventuallyElsewhere(() => looks[1]!.count >= 3);
    expect(looks[0]!.count).toBe(0);
    for (const { leave } of looks) leave();
  });

  it('keep the run from being stopped for want of followers, once, while signals do not arrive', async () => {
    const wishes: unknown[] = [];
    const wish = (run: object, what: string) => {
      wishes.push([run, what]);
      return wishes.length === 1 ? Promise.reject(new Error('The database is away.')) : Promise.resolve(true);
    };
    const group = new FollowerGroups({ ...STORE, signals: new LateSignals(), wish }).of(RUN);
    const follower = {
      ...{ offset: 0, disconnect: () => undefined, notify: () => undefined, offer: () => undefined },
    };
    group.join(follower);
    await new Promise((resolve) => setImmediate(resolve));
    for (let rounds = 0; rounds < 3; rounds++) group.report();
    expect(wishes).toEqual([
      [RUN, 'detach'],
      [RUN, 'detach'],
    ]);
    group.leave(follower);
  });

  it('cost the same with each slice, however many there are', () => {
    const group = new FollowerGroups(STORE).of(RUN);
    let looks = 0;
    let read = 0;
    const followers = Array.from({ length: 2_000 }, () => ({
      ...{ disconnect: () => undefined, notify: () => undefined, offer: () => undefined },
      get offset() {
        looks++;
        return read;
      },
    }));
    for (const follower of followers) group.join(follower);
    looks = 0;
    for (read = 20_000; read <= 60_000; read += 20_000) {
      for (const follower of followers) group.advanced(follower);
    }
    // Each slice once per follower, and twice to report how far the fastest is.
    expect(looks).toBeLessThanOrEqual(3 * 3 * followers.length);
    for (const follower of followers) group.leave(follower);
  });
});

describe('The followers of a run that this process has taken', () => {
  it('hold nothing back before one of them is heard of, and keep the run from being without followers', () => {
    const group = new FollowerGroups(STORE).of(RUN);
    const changes: string[] = [];
    group.attach({ followed: () => changes.push('followed'), unfollowed: () => changes.push('unfollowed') });
    group.goLive(RUN, true, true);
    expect(group.lag(1_000_000)).toBeLessThan(0);
    group.followedBy('other', 400_000);
    expect(group.lag(1_000_000)).toBe(600_000);
    expect(changes).toEqual(['followed']);
    group.leftBy('other');
    expect(changes).toEqual(['followed', 'unfollowed']);
    group.detach(true);
  });

  it('are told of its news although none of them is heard of, while signals do not arrive', async () => {
    const signals = new LateSignals();
    const group = new FollowerGroups({ ...STORE, signals }).of(RUN);
    group.attach({ followed: () => undefined, unfollowed: () => undefined });
    group.notify();
    group.goLive(RUN, false, false);
    group.notify();
    await eventuallyElsewhere(() => signals.sent.length > 0);
    expect(signals.sent).toEqual([{ type: 'news', runId: 'r' }]);
    group.detach(true);
    expect(signals.sent).toEqual([
      { type: 'news', runId: 'r' },
      { type: 'news', runId: 'r' },
    ]);
  });
});
