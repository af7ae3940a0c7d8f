import { Command } from '@langchain/langgraph';
import { isApproved, type QueryContext } from 'nest-agent-query';
import type { CompiledGraph, GraphConfig } from './graph-options.js';
import { questionsOf } from './questions.js';
import type { ThreadState } from './thread.js';

/**
 * Asks what a graph needs to know that has stopped.
 *
 * @param checkpoint where the graph has stopped, for another attempt
 * @param refused gets each sentence with which a call is refused
 * @returns with what the graph goes on; undefined if it may not
 */
export async function answered(
  { checkpoint: stop, interrupts, messages }: ThreadState,
  context: Pick<QueryContext, 'ask'>,
  checkpoint: unknown,
  refused: (reason: string) => void,
): Promise<{ input: unknown } | undefined> {
  if (interrupts.length === 0) {
    const question = {
      key: stop,
      kind: 'approval',
      message: 'The agent has stopped. May it go on?',
    } as const;
    const [answer] = await context.ask([question], { checkpoint });
    return isApproved(answer) ? { input: null } : undefined;
  }
  const { questions, resume } = questionsOf(interrupts, messages, refused);
  // Each answer has its id: LangGraph refuses one without it if several are open.
  return { input: new Command({ resume: resume(await context.ask(questions, { checkpoint })) }) };
}

/** Whether a graph stops at nodes without a question. Then a thread that has not ended may have stopped there. */
export function stopsAtNodes(
  graph: CompiledGraph,
  config: GraphConfig & Partial<CompiledGraph> = {},
): boolean {
  const { interruptBefore = graph.interruptBefore, interruptAfter = graph.interruptAfter } = config;
  return [interruptBefore, interruptAfter].flat().some((node) => node !== undefined && node !== null);
}
