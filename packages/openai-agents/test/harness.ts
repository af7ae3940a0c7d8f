import { Buffer } from 'node:buffer';
import {
  Agent,
  type AgentInputItem,
  type Model,
  type ModelRequest as FrameworkRequest,
  type ModelResponse,
  Runner,
  type Session,
  type StreamEvent,
  tool,
  Usage,
} from '@openai/agents';
import { fromOpenAIAgents, type OpenAIAgentsOptions } from '../src/index.js';
import type { AgentHandler } from 'nest-agent-query';
import {
  FakeModel,
  type FakeUsage,
  type ModelAct,
  type ModelMessageSeen,
  ModelRefusal,
} from '../../../test/contracts/adapters/fake-model.js';
import type { AdapterHarness, AskingHarness, FakeTool } from '../../../test/contracts/adapters/harness.js';

/** OpenAI Agents, with a fake model that speaks as that of OpenAI Responses. */
export const openAIAgentsHarness: AdapterHarness = {
  name: 'openai-agents',
  create: openAIAgentsHandler,
  cannot: {
    backPressure: 'the framework reads an answer of a model as fast as it comes',
  },
};

/**
 * OpenAI Agents, with sessions of the framework.
 *
 * @param session the memory of the test that is executed
 */
export function openAIAgentsMemoryHarness(session: () => Session): AdapterHarness {
  return {
    ...openAIAgentsHarness,
    name: 'openai-agents, with a session of the framework',
    create: (model, tools, options) => openAIAgentsHandler(model, tools, { ...options, session }),
  };
}

/** OpenAI Agents, with tools that ask. */
export const openAIAgentsAskingHarness: AskingHarness = {
  name: 'openai-agents',
  create: (model, tools, options) =>
    openAIAgentsHandler(
      model,
      tools.flatMap(({ execute, ...tool }) => (execute ? { ...tool, execute } : [])),
      options,
    ),
  cannot: {
    sameId: 'the framework takes a call with the id of an approved call of the same tool for approved',
    edit: 'the framework makes a call only with the arguments of the model',
    callerTool: 'all tools of the framework are executed in the service',
  },
};

/** A handler of an agent with a fake model. Nothing is traced: that would go to a server. */
export function openAIAgentsHandler(
  model: FakeModel,
  tools: FakeTool[],
  options: OpenAIAgentsOptions = {},
): AgentHandler {
  const agent = new Agent({
    name: 'Fake',
    model: new FakeFrameworkModel(model),
    tools: tools.map(frameworkTool),
  });
  return fromOpenAIAgents(agent, { runner: new Runner({ tracingDisabled: true }), ...options });
}

export function frameworkTool({
  name,
  execute,
  needsApproval = false,
}: FakeTool & { needsApproval?: boolean }) {
  return tool({
    name,
    description: name,
    strict: false,
    parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
    needsApproval,
    execute: (input) => execute(input as Record<string, unknown>),
  });
}

/** A model of the framework that does what a fake model is told. */
export class FakeFrameworkModel implements Model {
  #responses = 0;

  constructor(private readonly fake: FakeModel) {}

  /** How the framework asks models of agents that are tools. */
  async getResponse(request: FrameworkRequest): Promise<ModelResponse> {
    for await (const event of this.getStreamedResponse(request)) {
      if (event.type !== 'response_done') continue;
      const { inputTokens, outputTokens, totalTokens } = event.response.usage;
      const usage = new Usage({ inputTokens, outputTokens, totalTokens });
      return { usage, output: event.response.output };
    }
    throw new Error('The answer of the fake model has no end.');
  }

  async *getStreamedResponse({ input, tools, signal }: FrameworkRequest): AsyncGenerator<StreamEvent> {
    const items: AgentInputItem[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
    const request = { messages: messagesSeen(items), tools: tools.map(({ name }) => name) };
    const id = `response-${++this.#responses}`;
    const output = new Output(id);
    yield { type: 'response_started', providerData: { response: { model: FakeModel.MODEL_ID } } };
    try {
      for await (const act of this.fake.answer(request, signal)) {
        if (act.type !== 'end') yield* output.add(act);
        else {
          yield output.done(act.usage);
          // The framework passes on the event of the provider after its own.
          yield providerEvent({ type: 'response.completed' });
        }
      }
    } catch (error) {
      throw error instanceof ModelRefusal ? refusal(error) : error;
    }
  }
}

type OutputItem = Extract<StreamEvent, { type: 'response_done' }>['response']['output'][number];

/** What an answer consists of so far. */
class Output {
  #text = '';
  #reasoning = '';
  readonly #annotations: object[] = [];
  readonly #items: OutputItem[] = [];

  constructor(private readonly id: string) {}

  *add(act: ModelAct): Generator<StreamEvent> {
    if (act.type === 'text') {
      this.#text += act.text;
      yield { type: 'output_text_delta', delta: act.text, itemId: `${this.id}-message` };
      yield providerEvent({ type: 'response.output_text.delta', delta: act.text });
    } else if (act.type === 'reasoning') {
      this.#reasoning += act.text;
      const type = 'response.reasoning_summary_text.delta';
      yield providerEvent({ type, item_id: `${this.id}-reasoning`, summary_index: 0, delta: act.text });
    } else if (act.type === 'callBegin') {
      yield providerEvent({ type: 'response.function_call_arguments.delta', delta: act.argumentsText });
    } else if (act.type === 'source') {
      this.#annotations.push({ type: 'url_citation', url: act.url, title: act.title });
    } else if (act.type === 'call') {
      const { id: callId, name } = act;
      const call = { type: 'function_call', callId, name, arguments: JSON.stringify(act.arguments) } as const;
      this.#items.push({ ...call, status: 'completed' });
    } else if (act.type === 'file') {
      const result = Buffer.from(act.bytes).toString('base64');
      const image = { id: `${this.id}-image`, name: 'image_generation_call', status: 'completed' };
      this.#items.push({ type: 'hosted_tool_call', ...image, output: result });
    }
  }

  done(usage: FakeUsage): StreamEvent {
    const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens } = usage;
    const output = [...this.#reasoningItems(), ...this.#messageItems(), ...this.#items];
    const details = {
      ...(cachedInputTokens !== undefined && { inputTokensDetails: { cached_tokens: cachedInputTokens } }),
      ...(reasoningTokens !== undefined && { outputTokensDetails: { reasoning_tokens: reasoningTokens } }),
    };
    const used = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, ...details };
    return { type: 'response_done', response: { id: this.id, usage: used, output } };
  }

  #reasoningItems(): OutputItem[] {
    if (this.#reasoning === '') return [];
    const content = [{ type: 'input_text', text: this.#reasoning } as const];
    return [{ type: 'reasoning', id: `${this.id}-reasoning`, content }];
  }

  #messageItems(): OutputItem[] {
    if (this.#text === '') return [];
    const providerData = { annotations: this.#annotations };
    const content = [{ type: 'output_text', text: this.#text, providerData } as const];
    return [{ type: 'message', role: 'assistant', id: `${this.id}-message`, status: 'completed', content }];
  }
}

function providerEvent(event: object): StreamEvent {
  return { type: 'model', event, providerData: { rawModelEventSource: 'openai-responses' } };
}

/** The error of the client of OpenAI. */
function refusal({ status, body }: ModelRefusal): Error {
  const { error } = JSON.parse(body) as { error: { message: string; code?: string } };
  return Object.assign(new Error(`${status} ${error.message}`), { status, error, code: error.code });
}

function messagesSeen(items: AgentInputItem[]): ModelMessageSeen[] {
  const messages: ModelMessageSeen[] = [];
  for (const item of items) {
    const last = messages.at(-1);
    if (item.type === 'function_call') {
      const call = {
        id: item.callId,
        name: item.name,
        arguments: JSON.parse(item.arguments) as Record<string, unknown>,
      };
      if (last?.role === 'assistant') last.calls.push(call);
      else messages.push({ ...emptyMessage('assistant'), calls: [call] });
    } else if (item.type === 'function_call_result') {
      const result = { id: item.callId, content: item.output };
      if (last?.role === 'tool') last.results.push(result);
      else messages.push({ ...emptyMessage('tool'), results: [result] });
    } else if ('role' in item) messages.push(messageSeen(item));
  }
  return messages;
}

function messageSeen({ role, content }: Extract<AgentInputItem, { role: string }>): ModelMessageSeen {
  const message = emptyMessage(role);
  for (const part of typeof content === 'string' ? [{ type: 'input_text', text: content }] : content) {
    if ('text' in part) message.text += part.text;
    const data = 'image' in part ? part.image : 'file' in part ? part.file : undefined;
    const [, mimeType, base64] =
      /^data:([^;]*);base64,(.*)$/.exec(typeof data === 'string' ? data : '') ?? [];
    if (base64 !== undefined)
      message.files.push({ mimeType: mimeType!, bytes: Buffer.from(base64, 'base64') });
  }
  return message;
}

function emptyMessage(role: ModelMessageSeen['role']): ModelMessageSeen {
  return { role, text: '', files: [], calls: [], results: [] };
}
