/**
 * An agent that follows scripts, for nest-agent-query-conformance: `QueryModule.forRoot({ handler: new ConformanceAgent() })`.
 *
 * Marks are files, so that all processes on a machine share them: each has one byte for each time it was set.
 */
import { createHash } from 'node:crypto';
import { appendFile, mkdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AgentHandler, file, message, type Query, type QueryContext, type Question } from 'nest-agent-query';

/** One step of a script: an object with one of these members. */
interface Step {
  emit?: { type: string; data: unknown };
  times?: number;
  file?: { name: string; mimeType: string; base64: string };
  report?: 'query' | 'history';
  count?: string;
  mark?: string;
  markWhenStopped?: string;
  wait?: string;
  ask?: Question[];
  fail?: string;
  hang?: boolean;
}

export class ConformanceAgent extends AgentHandler {
  /** @param directory where the marks are; a directory that several processes share, where the service has several */
  constructor(private readonly directory = join(tmpdir(), 'nest-agent-query-conformance')) {
    super();
  }

  async *handle(query: Query, context: QueryContext) {
    const whenStopped: string[] = [];
    try {
      for (const step of scriptOf(query)) {
        if (step.markWhenStopped !== undefined) whenStopped.push(step.markWhenStopped);
        yield* this.#execute(step, query, context);
      }
    } finally {
      if (context.signal.aborted) for (const mark of whenStopped) await this.#set(mark);
    }
  }

  async *#execute(step: Step, query: Query, context: QueryContext) {
    const { history, signal } = context;
    const { emit, times = 1, file: emitted, report, count, mark, wait, ask, fail, hang } = step;
    if (emit) for (let n = 0; n < times; n++) yield emit;
    if (emitted) {
      const { base64, ...described } = emitted;
      yield file({ ...described, content: Buffer.from(base64, 'base64') });
    }
    if (report === 'query') yield message(JSON.stringify(received(query)));
    if (report === 'history') yield message(JSON.stringify(history.map(({ text }) => text)));
    if (count !== undefined) yield message(JSON.stringify(await this.#count(count)));
    if (mark !== undefined) await this.#set(mark);
    if (ask) {
      const answers = await context.ask(ask);
      yield message(JSON.stringify(answers.map(({ id, outcome, value }) => ({ id, outcome, value }))));
    }
    if (fail !== undefined) throw new Error(fail);
    const isOver = async () => wait !== undefined && (await this.#count(wait)) > 0;
    if (hang || wait !== undefined) while (!(await isOver())) await delay(10, undefined, { signal });
  }

  async #set(mark: string): Promise<void> {
    await mkdir(this.directory, { recursive: true });
    await appendFile(this.#path(mark), '1');
  }

  async #count(mark: string): Promise<number> {
    const found = await stat(this.#path(mark)).catch(() => undefined);
    return found?.size ?? 0;
  }

  #path(mark: string): string {
    return join(this.directory, createHash('sha256').update(mark).digest('hex'));
  }
}

/** The script is the last text of the query. */
function scriptOf({ parts }: Query): Step[] {
  const last = parts.findLast((part) => part.type === 'text');
  return JSON.parse(last?.text ?? '[]') as Step[];
}

/** What the agent was given, without the contents of files. */
function received({ parts, kwargs }: Query) {
  const described = parts.map((part) => {
    if (part.type === 'text') return part;
    const { type, name, mimeType, sha256 } = part;
    return { type, name, mimeType, size: part.file.size, sha256 };
  });
  return { parts: described, kwargs };
}
