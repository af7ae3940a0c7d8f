/** `nest-agent-query-protocols/openai`: the runs of an agent for clients of OpenAI. */
export { OpenAiModule } from './openai.module.js';
export type { ViewOptions } from '../view/view.js';
