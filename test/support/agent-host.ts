import {
  AgentService,
  QueryModule,
  type QueryModuleExtras,
  type QueryModuleOptions,
} from '../../src/index.js';
import { type AdapterName, type Host, startHost } from './host.js';

/** A host whose service can be looked at. */
export interface AgentHost extends Host {
  agent: AgentService;
  /** Resolves when nothing is running, waiting, followed or overdue any more. */
  idle(): Promise<void>;
}

export async function startAgent(
  adapter: AdapterName,
  options: QueryModuleOptions & QueryModuleExtras,
): Promise<AgentHost> {
  const host = await startHost(adapter, QueryModule.forRoot(options));
  const agent = host.app.get(AgentService, { strict: false });
  const idle = () => until(() => Object.values(agent.load()).every((count) => count === 0));
  return { ...host, agent, idle };
}

/** Resolves when a condition holds; it is looked at once a turn of the event loop. */
export async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}
