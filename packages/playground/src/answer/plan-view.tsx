import type { PlanEntry } from 'nest-agent-query-client';
import { Icon } from '../icons.js';

const STATES: Record<string, string> = { completed: 'done', in_progress: 'in progress' };

/** What the agent plans, and how far it is. */
export function PlanView({ entries }: { entries: PlanEntry[] }) {
  const done = entries.filter(({ status }) => status === 'completed').length;
  return (
    <section class="plan">
      <h3>
        Plan, {done} of {entries.length} done
      </h3>
      <ol>
        {entries.map(({ content, status }, index) => (
          <li key={index} class={status}>
            <span class="box">{status === 'completed' && <Icon name="done" />}</span>
            <span>
              {content} <span class="unseen">({STATES[status] ?? 'not begun'})</span>
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
