import { APICallError, type LanguageModel, ToolLoopAgent, tool, type ToolSet } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { z } from 'zod';
import { fromAiSdk } from '../src/index.js';
import {
  FakeModel,
  type ModelAct,
  type ModelMessageSeen,
  ModelRefusal,
} from '../../../test/contracts/adapters/fake-model.js';
import type {
  AdapterHarness,
  AskingHarness,
  AskingTool,
  FakeTool,
} from '../../../test/contracts/adapters/harness.js';

type CallOptions = Parameters<MockLanguageModelV3['doStream']>[0];
type StreamPart =
  Awaited<ReturnType<MockLanguageModelV3['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;
type PromptMessage = CallOptions['prompt'][number];

/** The AI SDK with the options of `streamText`. */
export const aiSdkHarness: AdapterHarness = {
  name: 'ai-sdk',
  cannot: {},
  create: (model, tools, options) =>
    fromAiSdk({ model: modelOf(model), tools: toolsOf(tools), maxRetries: 0 }, options),
};

/** The AI SDK with an agent. */
export const aiSdkAgentHarness: AdapterHarness = {
  name: 'ai-sdk, with an agent',
  cannot: { backPressure: 'the SDK takes all that the model of an agent sends, at once' },
  create: (model, tools, options) =>
    fromAiSdk(new ToolLoopAgent({ model: modelOf(model), tools: toolsOf(tools), maxRetries: 0 }), options),
};

/** The AI SDK with the options of `streamText`, and tools that ask. */
export const aiSdkAskingHarness: AskingHarness = {
  name: 'ai-sdk',
  cannot: {},
  create: (model, tools, options) =>
    fromAiSdk({ model: modelOf(model), tools: askingToolsOf(tools), maxRetries: 0 }, options),
};

/** The AI SDK with an agent, and tools that ask. */
export const aiSdkAgentAskingHarness: AskingHarness = {
  name: 'ai-sdk, with an agent',
  cannot: {},
  create: (model, tools, options) =>
    fromAiSdk(
      new ToolLoopAgent({ model: modelOf(model), tools: askingToolsOf(tools), maxRetries: 0 }),
      options,
    ),
};

/** A model of the AI SDK that does what a fake model does. */
export function modelOf(fake: FakeModel): LanguageModel {
  return new MockLanguageModelV3({
    modelId: FakeModel.MODEL_ID,
    supportedUrls: {},
    doStream: async ({ prompt, tools = [], abortSignal }) => {
      const request = { messages: prompt.map(seen), tools: tools.map(({ name }) => name) };
      const acts = fake.answer(request, abortSignal);
      const first = await acts.next().catch((error: unknown) => {
        throw error instanceof ModelRefusal ? refusal(error) : error;
      });
      return { stream: ReadableStream.from(partsOf(first, acts)) };
    },
  });
}

export function toolsOf(tools: FakeTool[]) {
  return Object.fromEntries(
    tools.map(({ name, execute }) => [
      name,
      tool({ inputSchema: z.record(z.string(), z.unknown()), execute: async (args) => execute(args) }),
    ]),
  );
}

function askingToolsOf(tools: AskingTool[]) {
  const inputSchema = z.object({ amount: z.number() });
  return Object.fromEntries(
    tools.map(({ name, needsApproval, execute }) => [
      name,
      execute
        ? tool({ inputSchema, needsApproval, execute: async (args) => execute(args) })
        : tool({ inputSchema, needsApproval }),
    ]),
  ) as ToolSet;
}

async function* partsOf(first: IteratorResult<ModelAct>, rest: AsyncIterable<ModelAct>) {
  yield { type: 'stream-start', warnings: [] } satisfies StreamPart;
  yield { type: 'response-metadata', modelId: FakeModel.MODEL_ID } satisfies StreamPart;
  const blocks = new Blocks();
  if (!first.done) yield* blocks.partsOf(first.value);
  for await (const act of rest) yield* blocks.partsOf(act);
}

/** Texts of this SDK are in blocks with a start and an end. */
class Blocks {
  #open: 'text' | 'reasoning' | undefined;
  #hasCalls = false;
  #count = 0;

  *partsOf(act: ModelAct): Generator<StreamPart> {
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

  *#close(): Generator<StreamPart> {
    if (this.#open) yield { type: `${this.#open}-end`, id: String(this.#count) };
    this.#open = undefined;
  }

  #end({ inputTokens, outputTokens, ...usage }: (ModelAct & { type: 'end' })['usage']): StreamPart {
    const reason = this.#hasCalls ? 'tool-calls' : 'stop';
    return {
      type: 'finish',
      finishReason: { unified: reason, raw: reason },
      usage: {
        inputTokens: {
          total: inputTokens,
          noCache: undefined,
          cacheRead: usage.cachedInputTokens,
          cacheWrite: undefined,
        },
        outputTokens: { total: outputTokens, text: undefined, reasoning: usage.reasoningTokens },
      },
    };
  }
}

function seen({ role, content }: PromptMessage): ModelMessageSeen {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  return {
    role,
    text: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    files: parts.flatMap((part) =>
      part.type === 'file' ? [{ mimeType: part.mediaType, bytes: part.data as Uint8Array }] : [],
    ),
    calls: parts.flatMap((part) =>
      part.type === 'tool-call'
        ? [{ id: part.toolCallId, name: part.toolName, arguments: part.input as Record<string, unknown> }]
        : [],
    ),
    results: parts.flatMap((part) =>
      part.type === 'tool-result' ? [{ id: part.toolCallId, content: part.output }] : [],
    ),
  };
}

function refusal({ status, body, message }: ModelRefusal): Error {
  const url = 'https://models.example.org/v1/chat/completions';
  return new APICallError({ message, url, requestBodyValues: {}, statusCode: status, responseBody: body });
}
