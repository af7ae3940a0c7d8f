import type { Session } from '@openai/agents';
import type { QueryContext, SessionRef } from 'nest-agent-query';
import { threadOf } from 'nest-agent-query-adapters';
import type { MemoryRef, OpenAIAgentsOptions } from './openai-agents-options.js';

/** The methods of a session that add to it. */
const WRITES = ['addItems', 'applyHistoryTransaction'];

/** Names the memory of a session. */
export function memoryRef({ owner, id }: SessionRef): MemoryRef {
  return { owner, id, key: threadOf({ owner, id }) };
}

/**
 * The memory of the session of a run; undefined if the query names no session.
 *
 * The framework writes the question of a run that is stopped into the memory. If the run goes on in another attempt, that one
 * writes it.
 */
export async function memoryOf(
  open: NonNullable<OpenAIAgentsOptions['session']>,
  { owner, session, signal }: QueryContext,
): Promise<Session | undefined> {
  if (!session) return undefined;
  const memory = await open(memoryRef({ owner, id: session.id }));
  return new Proxy(memory, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const isHandedOver = (signal.reason as Error | undefined)?.name === 'HandedOver';
        if (isHandedOver && WRITES.includes(String(name))) return Promise.resolve();
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
}
