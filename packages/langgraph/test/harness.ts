import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel, type BaseChatModelCallOptions } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import type { BaseCheckpointSaver } from '@langchain/langgraph';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { createAgent, humanInTheLoopMiddleware } from 'langchain';
import { type CompiledGraph, fromLangGraph } from '../src/index.js';
import {
  FakeModel,
  type FakeUsage,
  type ModelAct,
  type ModelMessageSeen,
  ModelRefusal,
} from '../../../test/contracts/adapters/fake-model.js';
import type { AdapterHarness, AskingHarness, FakeTool } from '../../../test/contracts/adapters/harness.js';

type ApprovedTool = FakeTool & { needsApproval?: boolean };

const NOT_EXECUTED = 'LangGraph executes no call whose id its thread has had';

/**
 * A graph with a checkpointer.
 *
 * @param saver the checkpointer of the test that is executed
 */
export function langGraphHarness(saver: () => BaseCheckpointSaver): AdapterHarness {
  return {
    name: 'langgraph',
    cannot: { repeatedIds: NOT_EXECUTED },
    create: (model, tools, options) => fromLangGraph(graphOf(model, tools, saver()), options),
  };
}

/** A graph that is given the history. */
export const langGraphWithoutMemoryHarness: AdapterHarness = {
  name: 'langgraph, without a checkpointer',
  cannot: { repeatedIds: NOT_EXECUTED, checkpoint: 'a graph without a checkpointer keeps no steps' },
  create: (model, tools, options) => fromLangGraph(graphOf(model, tools), options),
};

/**
 * A graph with the middleware of LangChain that asks people.
 *
 * @param saver the checkpointer of the test that is executed
 */
export function langGraphAskingHarness(saver: () => BaseCheckpointSaver): AskingHarness {
  return {
    name: 'langgraph',
    cannot: {
      mixed: 'the middleware of LangChain makes no call of a step in which it is told to refuse one',
      callerTool: 'all tools of the framework are executed in the service',
    },
    create: (model, tools, options) =>
      fromLangGraph(
        graphOf(
          model,
          tools.flatMap(({ execute, ...tool }) => (execute ? { ...tool, execute } : [])),
          saver(),
        ),
        options,
      ),
  };
}

/** @param tools those with `needsApproval` are asked about */
export function graphOf(model: FakeModel, tools: ApprovedTool[], checkpointer?: BaseCheckpointSaver) {
  const interruptOn = Object.fromEntries(
    tools.filter(({ needsApproval }) => needsApproval).map(({ name }) => [name, true]),
  );
  if (Object.keys(interruptOn).length > 0 && checkpointer) {
    const middleware = [humanInTheLoopMiddleware({ interruptOn } as never)];
    const agent = { model: new FakeChatModel(model), tools: toolsOf(tools), middleware, checkpointer };
    // The types of `langchain` do not fit `exactOptionalPropertyTypes`.
    return createAgent(agent as never).graph as unknown as CompiledGraph;
  }
  return createReactAgent({
    llm: new FakeChatModel(model),
    tools: toolsOf(tools),
    ...(checkpointer && { checkpointer }),
  });
}

export function toolsOf(tools: FakeTool[]) {
  return tools.map(({ name, execute }) =>
    tool(async (args: unknown) => execute(args as Record<string, unknown>), {
      name,
      description: name,
      schema: { type: 'object', properties: { city: { type: 'string' } } },
    }),
  );
}

interface FakeCallOptions extends BaseChatModelCallOptions {
  toolNames?: string[];
}

/** A chat model of LangChain that does what a fake model does. */
export class FakeChatModel extends BaseChatModel<FakeCallOptions> {
  constructor(private readonly fake: FakeModel) {
    super({ maxRetries: 0 });
  }

  override _llmType(): string {
    return 'fake';
  }

  override bindTools(tools: { name: string }[]) {
    return this.withConfig({ toolNames: tools.map(({ name }) => name) });
  }

  override async _generate(): Promise<ChatResult> {
    throw new Error('This model streams only.');
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    { signal, toolNames = [] }: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    let index = 0;
    try {
      for await (const act of this.fake.answer({ messages: messages.map(seen), tools: toolNames }, signal)) {
        const message = chunkOf(act, index);
        if (act.type === 'call' || act.type === 'callBegin') index += 1;
        const chunk = new ChatGenerationChunk({ message, text: message.text });
        yield chunk;
        await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, {
          chunk,
        });
      }
    } catch (error) {
      throw error instanceof ModelRefusal ? refusal(error) : error;
    }
  }
}

function chunkOf(act: ModelAct, index: number): AIMessageChunk {
  switch (act.type) {
    case 'text':
      return new AIMessageChunk(act.text);
    case 'reasoning':
      return new AIMessageChunk({ content: [{ type: 'reasoning', reasoning: act.text }] });
    case 'call':
      return callChunk(act.id, act.name, JSON.stringify(act.arguments), index);
    case 'callBegin':
      return callChunk(act.id, act.name, act.argumentsText, index);
    case 'source': {
      const { url, title } = act;
      const annotations = [{ type: 'citation', url, title }];
      return new AIMessageChunk({ content: [{ type: 'text', text: '', annotations }] });
    }
    case 'file': {
      const data = Buffer.from(act.bytes).toString('base64');
      return new AIMessageChunk({ content: [{ type: 'image', mimeType: act.mimeType, data }] });
    }
    case 'end': {
      const response_metadata = { model_name: FakeModel.MODEL_ID };
      const usage_metadata = usageOf(act.usage);
      return Object.assign(new AIMessageChunk({ content: '', response_metadata }), { usage_metadata });
    }
  }
}

function usageOf({ inputTokens, outputTokens, reasoningTokens, cachedInputTokens }: FakeUsage) {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cachedInputTokens && { input_token_details: { cache_read: cachedInputTokens } }),
    ...(reasoningTokens && { output_token_details: { reasoning: reasoningTokens } }),
  };
}

function callChunk(id: string, name: string, args: string, index: number): AIMessageChunk {
  const tool_call_chunks = [{ type: 'tool_call_chunk' as const, id, name, args, index }];
  return new AIMessageChunk({ content: '', tool_call_chunks });
}

const ROLES: Record<string, ModelMessageSeen['role']> = {
  human: 'user',
  ai: 'assistant',
  tool: 'tool',
  system: 'system',
};

function seen(message: BaseMessage): ModelMessageSeen {
  const blocks = Array.isArray(message.content) ? (message.content as Record<string, unknown>[]) : [];
  const { tool_calls = [], tool_call_id: id } = message as Partial<AIMessageChunk> & {
    tool_call_id?: string;
  };
  return {
    role: ROLES[message.getType()]!,
    text: message.text,
    files: blocks
      .filter(({ data }) => typeof data === 'string')
      .map(({ data, mime_type, mimeType }) => ({
        mimeType: String(mime_type ?? mimeType),
        bytes: Buffer.from(String(data), 'base64'),
      })),
    calls: tool_calls.map(({ id = '', name, args }) => ({ id, name, arguments: args })),
    results: id === undefined ? [] : [{ id, content: message.content }],
  };
}

/** What the packages of LangChain throw for a refused request: the error of the provider's client. */
function refusal({ status, body }: ModelRefusal): Error {
  const { error } = JSON.parse(body) as { error: { message: string; code?: string } };
  return Object.assign(new Error(`${status} ${error.message}`), { status, code: error.code, error });
}
