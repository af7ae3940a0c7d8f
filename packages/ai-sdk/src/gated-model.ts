import { type LanguageModel, wrapLanguageModel } from 'ai';
import type { ModelGate } from 'nest-agent-query-adapters';
import type { DistinctCalls } from './distinct-calls.js';

/** The model, held back, and with distinct calls, where it can be. It cannot if the SDK finds the model by its name. */
export function gatedModel(model: LanguageModel, gate: ModelGate, calls: DistinctCalls): LanguageModel {
  if (typeof model !== 'object' || model.specificationVersion === 'v2') return model;
  return wrapLanguageModel({
    model,
    middleware: {
      // Version 7 of the SDK has models of another specification, and wraps them in the same way.
      specificationVersion: model.specificationVersion,
      wrapStream: async ({ doStream }) => {
        const { stream, ...rest } = await doStream();
        return { ...rest, stream: gate.gated(stream, calls.step()) };
      },
    },
  });
}
