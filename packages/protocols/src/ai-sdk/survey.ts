import type { AgentService } from 'nest-agent-query';
import { MessageForm, type Shown, type VoidRange } from './message-form.js';

/** What is known of a run before a response shows it. */
export interface Survey {
  /** What `Shown` has of them. */
  answeredUpTo: number;
  voids: VoidRange[];
  approved: ReadonlySet<string>;
  /** How many chunks the response has at present. */
  count: number;
}

/**
 * Reads the log of a run as far as it goes. What a restart has made void comes before the restart in the log, so a response that shows
 * the run from its beginning must know it before.
 *
 * @throws {QueryError} see `AgentService.follow`
 */
export async function survey(
  agent: AgentService,
  owner: string,
  shown: Pick<Shown, 'runId' | 'version' | 'since'>,
): Promise<Survey> {
  const voids: VoidRange[] = [];
  for (;;) {
    const form = new MessageForm({ ...shown, answeredUpTo: Infinity, voids });
    const events = await readPresent(agent, owner, form, shown.runId);
    const { untold, openAt, count, approved } = form;
    if (!untold) return { answeredUpTo: openAt === undefined ? events : openAt - 1, voids, approved, count };
    voids.push(untold);
  }
}

/** Returns how many envelopes there were. */
async function readPresent(
  agent: AgentService,
  owner: string,
  form: MessageForm,
  runId: string,
): Promise<number> {
  const { run, follow } = await agent.follow(owner, runId).admitted;
  const { events } = run!;
  if (events === 0) return 0;
  await new Promise<void>((resolve, reject) => {
    const follower = follow({
      write: (slice) => {
        form.framesOf(slice);
        const isRead = form.isOver || slice.first + slice.count > events;
        if (isRead && follower.leave()) resolve();
        // A long log must not hold the event loop.
        else setImmediate(() => follower.drained());
        return isRead;
      },
      end: resolve,
      fail: reject,
      disconnect: resolve,
    });
    follower.notify();
  });
  return events;
}
