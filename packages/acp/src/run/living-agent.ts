import { randomUUID } from 'node:crypto';
import { settlesWithin } from 'nest-agent-query/agents';
import { environmentOf } from 'nest-agent-query-adapters';
import type { AcpSettings } from '../acp-options.js';
import { AgentProcess } from '../process/agent-process.js';
import type { Kept } from '../process/pool.js';
import { Agent } from './agent.js';
import { withEnd } from './failures.js';

/** Milliseconds that an agent is given to erase its session. */
const ERASE_MS = 1_000;

/** Milliseconds that an agent is given at most to answer a prompt that was cancelled, and its part of the time for stopping. */
const CANCEL_MS = 2_000;
const CANCEL_PART = 0.3;

/** An agent and its process, which one run uses at a time. */
export class LivingAgent implements Kept {
  readonly ended: Promise<void>;
  /** The run whose prompt its session has got last. */
  lastRun: string | undefined;

  private constructor(
    readonly agent: Agent,
    readonly process: AgentProcess,
    private readonly settings: AcpSettings,
  ) {
    this.ended = process.exited.then(() => undefined);
  }

  /**
   * Starts an agent, and greets it.
   *
   * @throws the system's error · what the peer throws. No process is left then
   */
  static async start(
    settings: AcpSettings,
    place: { home: string; cwd: string },
    log: (line: string) => void,
    signal: AbortSignal,
  ): Promise<LivingAgent> {
    const agent = new Agent(settings, log);
    const marker = randomUUID();
    const env = environmentOf(place.home, marker, settings.env);
    const { handlers } = agent;
    const process = await AgentProcess.start(settings, { env, cwd: place.cwd, marker, handlers, log });
    const living = new LivingAgent(agent, process, settings);
    try {
      await agent.initialize(process, signal);
      return living;
    } catch (error) {
      const failure = await withEnd(error, process);
      await living.stop();
      throw failure;
    }
  }

  /** Lets the agent write down a turn that it has to leave, and ends it. Can be called again. */
  async cancel(): Promise<void> {
    await this.agent.cancel(Math.min(CANCEL_MS, this.settings.stopDeadlineMs * CANCEL_PART));
    await this.stop();
  }

  stop(): Promise<void> {
    return this.process.stop();
  }

  letExit(mayExit: boolean): void {
    this.process.letExit(mayExit);
  }

  async erase(): Promise<void> {
    await settlesWithin(
      ERASE_MS,
      this.agent.erase().catch(() => undefined),
    );
  }
}
