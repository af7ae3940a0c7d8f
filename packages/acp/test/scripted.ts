import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import type { AgentHandler, Envelope, Question } from 'nest-agent-query';
import { type ContextInput, contextOf, queryOf, type TestContext } from 'nest-agent-query/testing';
import { answering } from '../../../test/contracts/adapters/asking.js';
import { type AcpOptions, fromAcp } from '../src/index.js';

// What operators read is no part of these tests.
Logger.overrideLogger(false);

export const AGENT = join(import.meta.dirname, 'agent.mjs');
export const YES = { approved: true };
export const NO = { approved: false };

/** What a handler has answered. */
export interface Answered {
  envelopes: Envelope[];
  /** With which it has failed; undefined if it has not. */
  error: unknown;
  context: TestContext & { pauses: number };
}

/** The scripted agent in one test: its folder, and the handlers that start it. */
export class Scripted {
  readonly directory = mkdtempSync(join(tmpdir(), 'acp-scripted-'));

  /**
   * @param is the switches of the agent, as `agent/switches.mjs` has them
   */
  handler(is = '', options: Partial<AcpOptions> = {}): AgentHandler {
    return fromAcp({ ...this.options(is), ...options });
  }

  options(is = ''): AcpOptions & { directory: string } {
    return {
      command: process.execPath,
      args: [AGENT],
      env: { AGENT_IS: is },
      directory: this.directory,
      stopDeadlineMs: 1_000,
    };
  }

  /** The ids of the processes that this test has left: agents, and what these have started, have the folder in their environment. */
  get processes(): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
      .filter((pid) => readOf(`/proc/${pid}/environ`).includes(this.directory))
      .map(Number);
  }

  async end(): Promise<void> {
    const left = this.processes;
    for (const pid of left) process.kill(pid, 'SIGKILL');
    await rm(this.directory, { recursive: true, force: true });
    expect(left).toEqual([]);
  }
}

/** A process that has ended has no environment. */
function readOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/**
 * Reads an answer to its end.
 *
 * @param script lines of the script, without `DO`; or the text itself, if it is one
 * @param valueOf the value of the answer to each question; undefined: declined
 */
export async function answerOf(
  handler: AgentHandler,
  script: string[] | string,
  valueOf: (question: Question) => unknown = () => YES,
  input: ContextInput | TestContext = {},
): Promise<Answered> {
  const context = answering('ask' in input ? input : await contextOf(input), valueOf);
  const text = typeof script === 'string' ? script : script.map((line) => `DO ${line}`).join('\n');
  const envelopes: Envelope[] = [];
  let error: unknown;
  try {
    const answer = await handler.handle(await queryOf(text), context);
    for await (const envelope of answer as AsyncIterable<Envelope>) envelopes.push(envelope);
  } catch (thrown) {
    error = thrown;
  }
  return { envelopes, error, context };
}

export const dataOf = (envelopes: Envelope[], type: string) =>
  envelopes.filter((envelope) => envelope.type === type).map(({ data }) => data as Record<string, unknown>);

export const textOf = (envelopes: Envelope[]) =>
  dataOf(envelopes, 'message')
    .map(({ content }) => content)
    .join('');

/** What `DO tell` says: the last message, from JSON. */
export const toldBy = (envelopes: Envelope[]): unknown =>
  JSON.parse(dataOf(envelopes, 'message').at(-1)!['content'] as string);
