import type { FollowersListener } from '../../event-log/followers.js';
import type { DisconnectPolicy } from '../../options/query.options.js';
import type { Timer } from '../../platform/clock.js';
import type { LiveRun, RunnerServices } from '../runner-services.js';
import { stackForLog } from '../../platform/text-for-log.js';

/** Applies the disconnect policy to one run: what happens when its last follower has left. */
export class Disconnects implements FollowersListener {
  #policy: DisconnectPolicy;
  #graceTimer: Timer | undefined;
  #wasFollowed = false;
  #isSuspended = false;

  /** @param isDetached whether the run continues when nobody follows it, whatever the policy is */
  constructor(
    private readonly services: RunnerServices,
    private readonly run: LiveRun,
    isDetached: boolean,
  ) {
    this.#policy = isDetached ? 'continue' : services.options.disconnect;
  }

  followed(): void {
    this.#wasFollowed = true;
    this.clear();
  }

  unfollowed(): void {
    const policy = this.#policy;
    if (this.run.hasEnded || this.#isSuspended || policy === 'continue') return;
    const cancel = () => void this.#cancelUnfollowed();
    if (policy === 'cancel') cancel();
    else this.#graceTimer = this.services.clock.start('graceMs', policy.graceMs, cancel);
  }

  /** The run asks: nobody need follow it. */
  suspend(): void {
    this.#isSuspended = true;
    this.clear();
  }

  /** The run executes again. Who has answered may be about to follow it. */
  resume(isDetached: boolean): void {
    this.#isSuspended = false;
    if (isDetached) this.ignore();
    else if (this.run.followers.size === 0 && typeof this.#policy === 'object') this.unfollowed();
  }

  /** From now on the run continues when nobody follows it. */
  ignore(): void {
    this.#policy = 'continue';
    this.clear();
  }

  /** No caller can follow the run once this process has ended: from now on it is stopped when nobody follows it. */
  cancelUnlessFollowed(): void {
    if (this.#policy === 'continue' || this.#isSuspended) return;
    this.#policy = 'cancel';
    this.clear();
    // The caller of a run that is being admitted comes later.
    if (this.#wasFollowed && this.run.followers.size === 0) this.run.stop({ status: 'cancelled' });
  }

  clear(): void {
    this.services.clock.stop(this.#graceTimer);
  }

  async #cancelUnfollowed(): Promise<void> {
    const { run } = this;
    const { store, logger } = this.services;
    try {
      // Another process may have been asked to let the run continue, and its signal may be lost.
      if (store.signals.isShared && (await store.find(run.owner, run.id, true))?.detached)
        return this.ignore();
    } catch (error) {
      const sentence = `Run ${run.id} continues without followers, because the store did not tell whether it should.`;
      return logger.error(sentence, stackForLog(error));
    }
    if (run.followers.size === 0 && this.#policy !== 'continue') run.stop({ status: 'cancelled' });
  }
}
