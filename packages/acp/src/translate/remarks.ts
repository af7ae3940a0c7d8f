import { membersOf } from './members.js';

const LEVELS = ['error', 'warning', 'info', 'notice', 'debug'];

/** What Copilot CLI says in the place of the model, as a chunk of its own, and then ends the turn as if it were an answer. */
const COPILOT_FAILED =
  /^Error: (?:Failed to get response from the AI model|Authentication failed with provider)\b/;
const COPILOT_REPEATS = /^Info: Request failed due to a transient API error\. Retrying\.{3}\s*$/;

/** What a text is, if the agent and not the model has said it: marked with a level in a member of `_meta`, or known by its words. */
export function remarkOf(text: string, meta: unknown): 'log' | 'error' | undefined {
  if (COPILOT_FAILED.test(text)) return 'error';
  return COPILOT_REPEATS.test(text) || isMarked(meta) ? 'log' : undefined;
}

function isMarked(meta: unknown): boolean {
  return Object.values(membersOf(meta)).some((own) => {
    const { kind, level } = membersOf(own);
    return LEVELS.includes(kind as string) || LEVELS.includes(level as string);
  });
}
