import type { AgentInputItem, RunContext, Runner } from '@openai/agents';
import { type Envelope, message, type Query, type QueryContext, result } from 'nest-agent-query';
import { keepSteps, toolFailure } from 'nest-agent-query-adapters';
import { type AgentInput, AgentStream, type State } from './agent-stream.js';
import { AnswerEvents } from './answer-events.js';
import { Approvals } from './approvals.js';
import { openAIAgentsFailure, noOutput } from './failures.js';
import type { AnyAgent, Framework } from './framework.js';
import { keptState, restoredState } from './kept-state.js';
import { agentNamed, type KeptSteps } from './kept-steps.js';
import { RunMemory } from './memory.js';
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
  readonly #approvals: Approvals;
  /** What earlier attempts have done. */
  #before: AgentInputItem[] = [];
  /** What the framework begins with: the question, and what earlier attempts have done. */
  #input: AgentInputItem[] = [];
  /** The context of the tools. */
  #toolContext: unknown;
  #memory: RunMemory | undefined;

  constructor(
    private readonly equipment: Equipment<K>,
    private readonly query: Query<K>,
    private readonly context: QueryContext,
  ) {
    this.#agent = equipment.agent;
    this.#stream = new AgentStream(context.signal);
    this.#approvals = new Approvals(context, equipment.settings.approve, this.#kept?.asked);
    this.#events = new AnswerEvents({
      failure: (tool, error) => toolFailure(context.runId, tool, error),
      isRefused: (callId) => this.#approvals.isRefused(callId),
    });
  }

  /** The answer of the agent. Ends when nothing of the framework executes any more. */
  async *envelopes(): AsyncGenerator<Envelope> {
    const { signal } = this.context;
    let hasBegun = false;
    let isComplete = false;
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
      isComplete = true;
      yield* this.#usageBesides();
      if (signal.aborted) return;
      const { finalOutput } = this.#stream.result;
      // A text was said already.
      if (typeof finalOutput !== 'string') yield result(finalOutput);
    } catch (error) {
      if (signal.aborted) return;
      const { framework } = this.equipment;
      // The framework gives a refusal as an error only.
      if (error instanceof framework.ModelRefusalError) yield message(error.refusal);
      yield* this.#usageBesides();
      isComplete = error instanceof framework.ModelRefusalError;
      if (!isComplete) throw openAIAgentsFailure(framework, error, hasBegun);
    } finally {
      if (!isComplete) await this.#memory?.takeBack();
    }
  }

  get #kept(): KeptSteps | undefined {
    return this.context.resumed?.state as KeptSteps | undefined;
  }

  /** The question; after it, what earlier attempts have done. If they have asked, the state with the answers. */
  async *#begin(): AsyncGenerator<Envelope, AgentInput | undefined> {
    const { agent, settings, framework } = this.equipment;
    this.#toolContext = await settings.context?.(this.query, this.context);
    const kept = this.#kept;
    const memory =
      settings.session && (await RunMemory.open(settings.session, this.context, kept?.addedToMemory));
    this.#memory = memory;
    // A fork is not known to the memory, and neither is a session whose turns were replaced.
    const knowsSession = memory !== undefined && !(await memory.isEmpty());
    const { items, notes } = await itemsOf(this.query, this.context, settings, knowsSession);
    // Callers have the notes of the attempt that has asked.
    if (!kept?.state) yield* notes;
    this.#input = kept ? [...items, ...kept.items] : items;
    if (!kept) return items;
    this.#agent = agentNamed(kept.agent, agent);
    this.#before = kept.items;
    if (!kept.state) return this.#input;
    const runContext = new framework.RunContext(this.#toolContext);
    const origin = { runContext, input: this.#input };
    return this.#decide(await restoredState(framework, this.#agent, kept.state, origin), runContext);
  }

  async #start(input: AgentInput): Promise<void> {
    const { runner, settings } = this.equipment;
    const { maxTurns } = settings;
    const session = this.#memory?.session;
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
          ...(session && { session }),
          ...(maxTurns !== undefined && { maxTurns }),
        }),
      (event) => this.#events.take(event),
      !Array.isArray(input),
    );
  }

  /** The state with which the framework goes on; undefined if it has finished. */
  async #decided(): Promise<State | undefined> {
    const { result } = this.#stream;
    if (result.interruptions.length > 0) return this.#decide(result.state, result.runContext);
    if (result.finalOutput === undefined) throw noOutput();
    return undefined;
  }

  /** The state after all decisions about its calls of tools; undefined if the run is stopped. */
  async #decide(state: State, runContext: RunContext<unknown>): Promise<State | undefined> {
    await this.#approvals.decide(state, () => ({
      ...this.#keptWith(this.#agent.name, this.#before),
      state: keptState(state, { runContext, input: this.#input }),
    }));
    return this.context.signal.aborted ? undefined : state;
  }

  #keptWith(agent: string, items: AgentInputItem[]): KeptSteps {
    const addedToMemory = this.#memory?.added;
    return {
      ...{ agent, items, asked: this.#approvals.asked },
      ...(addedToMemory !== undefined && { addedToMemory }),
    };
  }

  /** Stores what was done so far, if there may be another attempt. */
  async #keepSteps(): Promise<void> {
    if (!this.equipment.settings.restarts) return;
    const { state, output } = this.#stream.result;
    await keepSteps(this.context, this.#keptWith(state.currentAgent.name, [...this.#before, ...output]));
  }

  /** What was used of which no event has told. */
  *#usageBesides(): Generator<Envelope> {
    const besides =
      this.#stream.hasStarted && this.#events.usageBesides(this.#stream.result.runContext.usage);
    if (besides) yield besides;
  }
}
