import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModel } from 'ai';
import { ScriptedModel } from './scripted-model.js';

/**
 * Makes the model that answers: any endpoint with the interface of OpenAI's chat completions, or the scripted model where none
 * is set. Another provider of the AI SDK fits here as well.
 *
 * @throws Error if only one of MODEL and MODEL_BASE_URL is set
 */
export function modelFrom({ MODEL, MODEL_BASE_URL, MODEL_API_KEY }: NodeJS.ProcessEnv): LanguageModel {
  if (!MODEL && !MODEL_BASE_URL) return new ScriptedModel();
  if (!MODEL)
    throw new Error('MODEL_BASE_URL is set, but MODEL is not. Set MODEL to a model of that endpoint.');
  if (!MODEL_BASE_URL)
    throw new Error('MODEL is set, but MODEL_BASE_URL is not. Set it, such as http://127.0.0.1:11434/v1.');
  const provider = createOpenAICompatible({
    name: 'model',
    baseURL: MODEL_BASE_URL,
    ...(MODEL_API_KEY && { apiKey: MODEL_API_KEY }),
    includeUsage: true,
  });
  return provider.chatModel(MODEL);
}
