import type { View } from '../view/view.js';

/** The model of this endpoint, which is its agent: the name of the module. */
export function modelOf({ options }: View): string {
  return options.name ?? 'agent';
}

/** A model, as OpenAI has it. */
export function modelJson(id: string) {
  return { id, object: 'model', created: 0, owned_by: 'nest-agent-query' };
}
