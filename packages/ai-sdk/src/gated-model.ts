import { type LanguageModel, wrapLanguageModel } from 'ai';
import type { ModelGate } from 'nest-agent-query-adapters';

/** The model, held back where it can be. It cannot if the SDK finds the model by its name. */
export function gatedModel(model: LanguageModel, gate: ModelGate): LanguageModel {
  if (typeof model !== 'object' || model.specificationVersion === 'v2') return model;
  return wrapLanguageModel({
    model,
    middleware: {
      // Version 7 of the SDK has models of another specification, and wraps them in the same way.
      specificationVersion: model.specificationVersion,
      wrapStream: async ({ doStream }) => {
        const { stream, ...rest } = await doStream();
        return { ...rest, stream: gate.gated(stream) };
      },
    },
  });
}
