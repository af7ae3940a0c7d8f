import { Buffer } from 'node:buffer';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { APICallError } from 'ai';
import { z } from 'zod';
import { fromMastra } from '../src/index.js';
import {
  FakeModel,
  type ModelAct,
  type ModelMessageSeen,
  ModelRefusal,
} from '../../../test/contracts/adapters/fake-model.js';
import { eventually } from '../../../test/support/conditions.js';
import type { AdapterHarness, AskingHarness, FakeTool } from '../../../test/contracts/adapters/harness.js';

type AgentConfig = ConstructorParameters<typeof Agent>[0];
type Part = Record<string, unknown> & { type: string };

/** What the framework gives to a model, as far as it is used. */
interface CallOptions {
  prompt: { role: ModelMessageSeen['role']; content: string | Part[] }[];
  tools?: { name: string }[];
  abortSignal?: AbortSignal;
}

/** The framework repeats a request to a model twice, and waits before that. */
export const WITHOUT_RETRIES = { modelSettings: { maxRetries: 0 } };

/** Mastra, with a fake model. */
export const mastraHarness: AdapterHarness = {
  name: 'mastra',
  create: (model, tools, options) =>
    fromMastra(mastraAgent(model, tools), { ...options, stream: () => WITHOUT_RETRIES }),
  cannot: {},
};

/**
 * Mastra, with a memory.
 *
 * @param memory of the test that is executed
 */
export function mastraMemoryHarness(memory: () => AgentConfig['memory']): AdapterHarness {
  return {
    name: 'mastra, with a memory',
    create: (model, tools, options) =>
      fromMastra(mastraAgent(model, tools, { memory: memory() } as Partial<AgentConfig>), {
        ...options,
        stream: () => WITHOUT_RETRIES,
      }),
    cannot: {},
  };
}

/** Mastra, with tools that ask, and the storage that this needs. */
export const mastraAskingHarness: AskingHarness = {
  name: 'mastra',
  create: (model, tools, options) =>
    fromMastra(
      withStorage(
        mastraAgent(
          model,
          tools.flatMap(({ execute, ...tool }) => (execute ? { ...tool, execute } : [])),
        ),
      ),
      { ...options, stream: () => WITHOUT_RETRIES },
    ),
  cannot: {
    edit: 'the framework makes a call only with the arguments of the model',
    callerTool: 'all tools of the framework are executed in the service',
  },
};

/** An agent with a fake model. Its logger is silent: the framework logs each error of a model and of a tool. */
export function mastraAgent(fake: FakeModel, tools: FakeTool[], config: Partial<AgentConfig> = {}): Agent {
  const agent = new Agent({
    name: 'Fake',
    instructions: 'Answer.',
    model: modelOf(fake) as AgentConfig['model'],
    tools: Object.fromEntries(tools.map((tool) => [tool.name, mastraTool(tool)])),
    ...config,
  });
  const silent = Object.fromEntries(
    ['debug', 'info', 'warn', 'error', 'trackException'].map((name) => [name, () => undefined]),
  );
  agent.__setLogger(silent as unknown as Parameters<Agent['__setLogger']>[0]);
  return agent;
}

/** What all processes of a service have in common. */
const storage = new InMemoryStore();

/** The agent with a storage, which it needs to wait for people. */
export function withStorage(agent: Agent): Agent {
  return new Mastra({ agents: { agent }, storage, logger: false }).getAgent('agent');
}

export function mastraTool({ name, execute, needsApproval = false }: FakeTool & { needsApproval?: boolean }) {
  return createTool({
    id: name,
    description: name,
    inputSchema: z.record(z.string(), z.unknown()),
    requireApproval: needsApproval,
    execute: async ({ context }) => execute(context),
  });
}

/** A model in the form of the AI SDK 5 that does what a fake model does. */
function modelOf(fake: FakeModel): object {
  return {
    specificationVersion: 'v2',
    provider: 'fake',
    modelId: FakeModel.MODEL_ID,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('The adapter streams.')),
    doStream: async ({ prompt, tools = [], abortSignal }: CallOptions) => {
      const request = { messages: prompt.map(seen), tools: tools.map(({ name }) => name) };
      // A memory sorts messages by their time. The framework gives each new one a millisecond of its own, and an answer that no real
      // model gives as fast as this one would be before its question.
      const asked = Date.now();
      await eventually(() => Date.now() > asked + prompt.length);
      const acts = fake.answer(request, abortSignal);
      const first = await acts.next().catch((error: unknown) => {
        throw error instanceof ModelRefusal ? refusal(error) : error;
      });
      return { stream: ReadableStream.from(partsOf(first, acts)) };
    },
  };
}

async function* partsOf(first: IteratorResult<ModelAct>, rest: AsyncIterable<ModelAct>) {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'response-metadata', id: 'response', modelId: FakeModel.MODEL_ID };
  const blocks = new Blocks();
  if (!first.done) yield* blocks.partsOf(first.value);
  for await (const act of rest) yield* blocks.partsOf(act);
}

/** Texts are in blocks with a start and an end. */
class Blocks {
  #open: 'text' | 'reasoning' | undefined;
  #hasCalls = false;
  #count = 0;

  *partsOf(act: ModelAct): Generator<Part> {
    if (act.type === 'text' || act.type === 'reasoning') {
      if (this.#open !== act.type) {
        yield* this.#close();
        this.#open = act.type;
        yield { type: `${act.type}-start`, id: String(++this.#count) };
      }
      yield { type: `${act.type}-delta`, id: String(this.#count), delta: act.text };
      return;
    }
    yield* this.#close();
    if (act.type === 'call') {
      this.#hasCalls = true;
      const { id, name, arguments: input } = act;
      yield { type: 'tool-call', toolCallId: id, toolName: name, input: JSON.stringify(input) };
    } else if (act.type === 'callBegin') {
      yield { type: 'tool-input-start', id: act.id, toolName: act.name };
      yield { type: 'tool-input-delta', id: act.id, delta: act.argumentsText };
    } else if (act.type === 'source') {
      yield { type: 'source', sourceType: 'url', id: String(++this.#count), url: act.url, title: act.title };
    } else if (act.type === 'file') yield { type: 'file', mediaType: act.mimeType, data: act.bytes };
    else yield this.#end(act.usage);
  }

  *#close(): Generator<Part> {
    if (this.#open) yield { type: `${this.#open}-end`, id: String(this.#count) };
    this.#open = undefined;
  }

  #end(usage: (ModelAct & { type: 'end' })['usage']): Part {
    const totalTokens = usage.inputTokens + usage.outputTokens;
    return {
      type: 'finish',
      finishReason: this.#hasCalls ? 'tool-calls' : 'stop',
      usage: { ...usage, totalTokens },
    };
  }
}

function seen({ role, content }: CallOptions['prompt'][number]): ModelMessageSeen {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const ofType = (type: string): Part[] => parts.filter((part) => part.type === type);
  return {
    role,
    text: ofType('text')
      .map(({ text }) => text)
      .join(''),
    files: ofType('file').map(({ mediaType, data }) => ({
      mimeType: mediaType as string,
      bytes: typeof data === 'string' ? Buffer.from(data, 'base64') : (data as Uint8Array),
    })),
    calls: ofType('tool-call').map(({ toolCallId, toolName, input }) => ({
      id: toolCallId as string,
      name: toolName as string,
      arguments: input as Record<string, unknown>,
    })),
    results: ofType('tool-result').map(({ toolCallId, output }) => ({
      id: toolCallId as string,
      content: output,
    })),
  };
}

function refusal({ status, body, message }: ModelRefusal): Error {
  const url = 'https://models.example.org/v1/chat/completions';
  return new APICallError({ message, url, requestBodyValues: {}, statusCode: status, responseBody: body });
}
