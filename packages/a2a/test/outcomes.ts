import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { AgentHandler, Envelope } from 'nest-agent-query';
import { type PartsInput, queryOf, type TestContext } from 'nest-agent-query/testing';

// Cuts and failures are what these suites are about: their lines would hide everything else.
Logger.overrideLogger(false);
beforeEach(() => {
  // The server and the client of the SDK write there what they refuse.
  for (const level of ['error', 'warn'] as const)
    jest.spyOn(console, level).mockImplementation(() => undefined);
});
afterEach(() => void jest.restoreAllMocks());

/** What a run of the handler has emitted, and how it has failed. */
export interface Outcome {
  envelopes: Envelope[];
  failure?: unknown;
}

export async function outcomeOf(
  agent: AgentHandler,
  context: TestContext,
  query: PartsInput = 'Hello',
  kwargs: Record<string, unknown> = {},
): Promise<Outcome> {
  const envelopes: Envelope[] = [];
  try {
    const answer = agent.handle(await queryOf(query, kwargs), context) as AsyncIterable<Envelope>;
    for await (const envelope of answer) envelopes.push(envelope);
    return { envelopes };
  } catch (failure) {
    return { envelopes, failure };
  }
}

/** The same with neighbouring chunks of a message joined: where they are cut depends on the connection. */
export function joined(envelopes: Envelope[]): Envelope[] {
  const all: Envelope[] = [];
  for (const { type, data } of envelopes) {
    const last = all.at(-1);
    const { id, content } = data as { id?: string; content?: string };
    if (type === 'message' && last?.type === type && (last.data as { id?: string }).id === id)
      all[all.length - 1] = {
        type,
        data: { id, content: (last.data as { content: string }).content + content },
      };
    else all.push({ type, data });
  }
  return all;
}

/** A context in which every question is answered so. A value of undefined declines it. */
export function answering(context: TestContext, value: unknown): TestContext {
  const ask = context.ask.bind(context);
  context.ask = async (questions, options) => {
    const asked = await ask(questions, options);
    return asked.map(({ id, by, at }) =>
      value === undefined ? { id, by, at, outcome: 'declined' } : { id, by, at, outcome: 'answered', value },
    );
  };
  return context;
}

/** What counts of a log: a `restarted` makes envelopes void. */
export function validOf(envelopes: Envelope[]): Envelope[] {
  const valid: (Envelope | undefined)[] = [];
  for (const envelope of envelopes) {
    if (envelope.type === 'restarted') valid.fill(undefined, (envelope.data as { from: number }).from);
    valid.push(envelope.type === 'restarted' ? undefined : envelope);
  }
  return valid.filter((each) => each !== undefined);
}
