import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ModelGate } from 'nest-agent-query-adapters';

/** A model as the framework calls it. */
interface StreamingModel {
  doStream(options: unknown): PromiseLike<{ stream: ReadableStream<unknown> }>;
}

/** The model, held back. Everything else of it is as it was. */
export function gatedModel<T extends object>(model: T, gate: ModelGate): T {
  return new Proxy(model, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'doStream') return value.bind(target) as unknown;
      return async (options: unknown) => {
        const { stream, ...rest } = await (target as unknown as StreamingModel).doStream(options);
        return { ...rest, stream: gate.gated(stream).pipeThrough(oneByOne()) };
      };
    },
  });
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
