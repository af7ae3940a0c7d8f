import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ModelGate } from 'nest-agent-query-adapters';

/** What the framework gives to a model, as far as it is used. */
interface ModelCall {
  prompt: { role: string; content: unknown }[];
  abortSignal?: AbortSignal;
}

/** A model as the framework calls it. */
interface StreamingModel {
  doStream(options: unknown): PromiseLike<{ stream: ReadableStream<unknown> }>;
}

/**
 * The model, held back. Everything else of it is as it was.
 *
 * @param refusals why calls were refused, by their ids. Version 0.24 does not tell the model
 */
export function gatedModel<T extends object>(
  model: T,
  gate: ModelGate,
  refusals: ReadonlyMap<string, string>,
): T {
  return new Proxy(model, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'doStream') return value.bind(target) as unknown;
      return async (options: ModelCall) => {
        options.abortSignal?.throwIfAborted();
        const prompt = options.prompt.map((message) => withReasons(message, refusals));
        const call = { ...options, prompt };
        const { stream, ...rest } = await (target as unknown as StreamingModel).doStream(call);
        return { ...rest, stream: gate.gated(stream).pipeThrough(oneByOne()) };
      };
    },
  });
}

function withReasons(
  message: ModelCall['prompt'][number],
  refusals: ReadonlyMap<string, string>,
): ModelCall['prompt'][number] {
  if (message.role !== 'tool' || !Array.isArray(message.content) || refusals.size === 0) return message;
  const content = (message.content as { toolCallId: string }[]).map((part) => {
    const value = refusals.get(part.toolCallId);
    return value === undefined ? part : { ...part, output: { type: 'error-text', value } };
  });
  return { ...message, content };
}

/** The framework loses parts of a model that come within one turn of the event loop, one of six. So each has a turn of its own. */
function oneByOne(): TransformStream<unknown, unknown> {
  return new TransformStream({
    transform: async (part, controller) => {
      controller.enqueue(part);
      await nextTurn();
    },
  });
}
