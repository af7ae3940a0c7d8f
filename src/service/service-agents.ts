import type { OnModuleDestroy } from '@nestjs/common';
import type { AgentService } from '../query/index.js';

/** All agents of the service together. */
export class ServiceAgents implements Pick<AgentService, 'check' | 'trouble'>, OnModuleDestroy {
  constructor(
    private readonly agents: Pick<AgentService, 'check' | 'trouble' | 'load' | 'onModuleDestroy'>[],
  ) {}

  /**
   * Checks whether the service accepts queries for all agents.
   *
   * @throws {QueryError} why it does not: `draining` · `unavailable`
   */
  async check(): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.check()));
  }

  /** What is wrong while the service takes queries. All agents have one store. */
  trouble(): string | undefined {
    return this.agents[0]!.trouble();
  }

  /** How many runs of all agents execute and wait in this process. */
  load(): { running: number; waiting: number } {
    const loads = this.agents.map((agent) => agent.load());
    return {
      running: loads.reduce((sum, { running }) => sum + running, 0),
      waiting: loads.reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }

  /**
   * Begins to drain all agents. Nest calls this first, because the root module has this, and then waits for one agent after
   * another: each would begin its time when the one before has ended.
   */
  onModuleDestroy(): void {
    for (const agent of this.agents) void agent.onModuleDestroy();
  }
}
