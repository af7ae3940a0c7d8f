import { type LanguageModel, tool } from 'ai';
import type { AgentHandler } from 'nest-agent-query';
import { fromAiSdk } from 'nest-agent-query-ai-sdk';
import { z } from 'zod';
import type { Orders } from './orders.js';

/** Answers questions about orders: the model decides when to look one up. */
export function orderAgent(model: LanguageModel, orders: Orders): AgentHandler {
  return fromAiSdk({
    model,
    instructions: 'You answer questions about orders. Look orders up, and never guess.',
    tools: {
      findOrder: tool({
        description: 'Finds an order by its number.',
        inputSchema: z.object({ number: z.string().describe('Such as 1001') }),
        execute: ({ number }) => orders.find(number) ?? { fault: `There is no order ${number}.` },
      }),
    },
  });
}
