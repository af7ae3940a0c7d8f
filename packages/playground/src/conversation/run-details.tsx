import type { RunView } from 'nest-agent-query-client';
import { useState } from 'preact/hooks';
import { Pairs } from '../pairs.js';
import type { Calls } from '../state/calls.js';
import type { Turn } from '../state/turn.js';
import { tokensOf } from '../text.js';

/** The run of an answer. What the service says of it is read when the user wants to see it. */
export function RunDetails({ turn: { runId, answer }, calls }: { turn: Turn; calls: Calls }) {
  const [run, setRun] = useState<RunView>();
  const [fault, setFault] = useState<string>();
  const load = () =>
    calls.during(() => calls.client.run(runId!)).then(setRun, ({ message }: Error) => setFault(message));
  const { usage } = answer;
  return (
    <details class="aside run" onToggle={({ currentTarget }) => currentTarget.open && void load()}>
      <summary>
        Run
        {usage && ` · ${tokensOf(usage)}`}
        {usage?.model !== undefined && ` · ${usage.model}`}
      </summary>
      {run && <Pairs pairs={factsOf(run)} />}
      {run?.metadata && (
        <>
          <h3>Metadata</h3>
          <Pairs pairs={Object.entries(run.metadata)} />
        </>
      )}
      {!run && fault !== undefined && <p class="fault">{fault}</p>}
    </details>
  );
}

function factsOf({ id, status, createdAt, startedAt, endedAt, events }: RunView): [string, string][] {
  const times = { created: createdAt, started: startedAt, ended: endedAt };
  return [
    ['id', id],
    ['status', status],
    ...Object.entries(times).flatMap(([name, time]): [string, string][] => (time ? [[name, time]] : [])),
    ['events', events.toLocaleString('en')],
  ];
}
