import type { AgentService } from 'nest-agent-query';
import { readPresent } from '../view/read-log.js';
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
    const events = await readPresent(agent.follow(owner, shown.runId), form);
    const { untold, openAt, count, approved } = form;
    if (!untold) return { answeredUpTo: openAt === undefined ? events : openAt - 1, voids, approved, count };
    voids.push(untold);
  }
}
