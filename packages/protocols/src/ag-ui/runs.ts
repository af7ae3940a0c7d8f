import { type AgentService, type Envelope, QueryError, type RunView } from 'nest-agent-query';
import { EventStream, type HostRequest } from 'nest-agent-query/protocol';
import { of } from 'rxjs';
import { AgUiForm } from './ag-ui-form.js';
import type { Shown } from './run-events.js';

/** The metadata of a run in which the run of the client is. */
export const RUN_KEY = 'ag-ui.run';

/** A stream of a run that exists. Where it has asked and was answered, it goes on. */
export async function followed(
  agent: AgentService,
  owner: string,
  run: RunView,
  shown: Shown,
  request: HostRequest,
): Promise<EventStream> {
  const { inputs } = await agent.inputs.of(owner, run.id);
  const resolved = new Set(inputs.flatMap(({ id, resolved: isResolved }) => (isResolved ? [id] : [])));
  const envelopes = agent.follow(owner, run.id, 0, { request });
  return new EventStream(envelopes, new AgUiForm(run, { ...shown, resolved }));
}

/** A stream that says why there is no run: AG-UI wants it for what breaks the rules of interrupts. */
export function refused({ code, detail: message }: QueryError, shown: Shown): EventStream {
  const done: Envelope = { type: 'done', data: { status: 'failed', error: { code, message } } };
  return new EventStream(of(done), new AgUiForm(undefined, shown));
}

/**
 * Finds a run by the name that the client has given it, or by its id.
 *
 * @throws {QueryError} `not_found`
 */
export async function runNamed(agent: AgentService, owner: string, name: string): Promise<RunView> {
  const { runs } = await agent.runs(owner, { metadata: { [RUN_KEY]: name }, limit: 1 });
  return runs[0] ?? (await agent.find(owner, name));
}
