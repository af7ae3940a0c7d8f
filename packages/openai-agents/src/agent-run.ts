import type { AgentInputItem, Runner } from '@openai/agents';
import { type Envelope, message, type Query, type QueryContext } from 'nest-agent-query';
import { keepSteps, toolFailure } from 'nest-agent-query-adapters';
import { type AgentInput, AgentStream, type State } from './agent-stream.js';
import { AnswerEvents } from './answer-events.js';
import { argumentsOf } from './arguments.js';
import { openAIAgentsFailure, noOutput } from './failures.js';
import type { AnyAgent, Framework } from './framework.js';
import { agentNamed, type KeptSteps } from './kept-steps.js';
import { memoryOf } from './memory.js';
import type { OpenAIAgentsSettings } from './openai-agents-options.js';
import { itemsOf } from './question.js';

/** What a run is executed with. */
interface Equipment<K extends object> {
  agent: AnyAgent;
  framework: Framework;
  runner: Runner;
  settings: OpenAIAgentsSettings<K>;
}

/** An attempt of one run. */
export class AgentRun<K extends object> {
  readonly #events: AnswerEvents;
  #stream: AgentStream;
  /** The agent with which the framework begins in this attempt. */
  #agent: AnyAgent;
  /** What earlier attempts have done. */
  #before: AgentInputItem[] = [];
  /** The context of the tools. */
  #toolContext: unknown;

  constructor(
    private readonly equipment: Equipment<K>,
    private readonly query: Query<K>,
    private readonly context: QueryContext,
  ) {
    this.#agent = equipment.agent;
    this.#stream = new AgentStream(context.signal);
    this.#events = new AnswerEvents((tool, error) => toolFailure(context.runId, tool, error));
  }

  /** The answer of the agent. Ends when nothing of the framework executes any more. */
  async *envelopes(): AsyncGenerator<Envelope> {
    const { signal } = this.context;
    let hasBegun = false;
    try {
      for (let input: AgentInput | undefined = yield* this.#begin(); input; input = await this.#decided()) {
        const stream = (this.#stream = new AgentStream(signal));
        try {
          await this.#start(input);
          for (;;) {
            const envelopes = await stream.next(() => this.#keepSteps());
            if (!envelopes) break;
            hasBegun = true;
            for (const envelope of envelopes) yield envelope;
          }
        } finally {
          await stream.end();
        }
        if (signal.aborted) return;
      }
      yield* this.#usageBesides();
    } catch (error) {
      if (signal.aborted) return;
      const { framework } = this.equipment;
      // The framework gives a refusal as an error only.
      if (error instanceof framework.ModelRefusalError) yield message(error.refusal);
      yield* this.#usageBesides();
      if (!(error instanceof framework.ModelRefusalError))
        throw openAIAgentsFailure(framework, error, hasBegun);
    }
  }

  /** The question; after it, what earlier attempts have done. */
  async *#begin(): AsyncGenerator<Envelope, AgentInput> {
    const { agent, settings } = this.equipment;
    const { resumed, session } = this.context;
    this.#toolContext = await settings.context?.(this.query, this.context);
    const hasMemory = settings.session !== undefined && session !== undefined;
    const { items, notes } = await itemsOf(this.query, this.context, settings, hasMemory);
    yield* notes;
    const kept = resumed?.state as KeptSteps | undefined;
    if (!kept) return items;
    this.#agent = agentNamed(kept.agent, agent);
    this.#before = kept.items;
    return [...items, ...kept.items];
  }

  async #start(input: AgentInput): Promise<void> {
    const { runner, settings } = this.equipment;
    const { maxTurns, session } = settings;
    const memory = session && (await memoryOf(session, this.context));
    const filter = runner.config.callModelInputFilter;
    await this.#stream.start(
      ({ beforeModel, signal }) =>
        runner.run(this.#agent, input, {
          stream: true,
          signal,
          context: this.#toolContext,
          callModelInputFilter: async (args) => {
            await beforeModel();
            return filter ? filter(args) : args.modelData;
          },
          ...(memory && { session: memory }),
          ...(maxTurns !== undefined && { maxTurns }),
        }),
      (event) => this.#events.take(event),
    );
  }

  /** The state with which the framework goes on, with its calls of tools approved or not; undefined if it has finished. */
  async #decided(): Promise<State | undefined> {
    const { result } = this.#stream;
    const { interruptions, state } = result;
    if (interruptions.length === 0) {
      if (result.finalOutput === undefined) throw noOutput();
      return undefined;
    }
    const { approve } = this.equipment.settings;
    for (const item of interruptions) {
      const { rawItem, agent, name = '' } = item;
      const id = 'callId' in rawItem ? rawItem.callId : (rawItem.id ?? '');
      const call = { id, name, arguments: argumentsOf(item.arguments), agent: agent.name };
      if (await approve?.(call, this.context)) state.approve(item);
      else state.reject(item);
    }
    return this.context.signal.aborted ? undefined : state;
  }

  /** Stores what was done so far, if there may be another attempt. */
  async #keepSteps(): Promise<void> {
    if (!this.equipment.settings.restarts) return;
    const { state, output } = this.#stream.result;
    const kept: KeptSteps = { agent: state.currentAgent.name, items: [...this.#before, ...output] };
    await keepSteps(this.context, kept);
  }

  /** What was used of which no event has told. */
  *#usageBesides(): Generator<Envelope> {
    const besides =
      this.#stream.hasStarted && this.#events.usageBesides(this.#stream.result.runContext.usage);
    if (besides) yield besides;
  }
}
