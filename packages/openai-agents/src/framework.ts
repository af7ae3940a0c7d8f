import type { Agent, AgentOutputType, Runner } from '@openai/agents';
import { requiredFramework } from './required-framework.cjs';

/** `@openai/agents`, as it is loaded. */
export type Framework = typeof import('@openai/agents');

/** An agent of any context and any output. */
export type AnyAgent = Agent<unknown, AgentOutputType>;

/** A copy of the framework, and what runs agents with it. */
interface LoadedFramework {
  framework: Framework;
  runner: Runner;
}

/**
 * The copies of the framework that have made agents. The package has one copy for `import` and one for `require`, and they do not
 * know each other's objects or settings.
 */
export class Frameworks {
  readonly #loaded: LoadedFramework[] = [];

  /** @param runner of the host; without one, each copy has a runner without settings */
  constructor(private readonly runner: Runner | undefined) {}

  /** @throws {Error} the package is another copy than that which has made the agent */
  async of(agent: AnyAgent): Promise<LoadedFramework> {
    const known = this.#loaded.find(({ framework }) => hasMade(framework, agent));
    if (known) return known;
    const framework = await frameworkOf(agent);
    const loaded = { framework, runner: this.runner ?? new framework.Runner() };
    this.#loaded.push(loaded);
    return loaded;
  }
}

async function frameworkOf(agent: AnyAgent): Promise<Framework> {
  const imported = await import('@openai/agents');
  if (hasMade(imported, agent)) return imported;
  const required = requiredFramework() as Framework;
  if (hasMade(required, agent)) return required;
  throw new Error(
    'fromOpenAIAgents needs an agent of the package @openai/agents, and finds another copy of it. Run npm ls ' +
      '@openai/agents-core, and leave one version.',
  );
}

function hasMade({ Agent: Made }: Framework, agent: unknown): boolean {
  return agent instanceof Made;
}
