import type { AssistantContent, JSONValue, ModelMessage, UserContent } from 'ai';
import type { FilePart, Query, QueryContext, Turn } from 'nest-agent-query';
import {
  type AnswerFile,
  type AnswerStep,
  answerSteps,
  FileContents,
  historyFile,
} from 'nest-agent-query/adapters';
import type { AiSdkSettings } from './ai-sdk-options.js';
import { estimateTokens } from './tokens.js';

/** Parts of a message of a user. */
type UserParts = Exclude<UserContent, string>;

/** What the model is asked. */
export interface Prompt {
  messages: ModelMessage[];
  /** How many of the turns in the history of the query are left out, because they are too long. */
  turnsLeftOut: number;
}

/** Makes messages of a query and the turns before it. */
export class PromptReader {
  readonly #contents: FileContents;

  constructor(
    private readonly context: QueryContext,
    private readonly settings: AiSdkSettings,
  ) {
    const { inputs, textOfFile } = settings;
    this.#contents = new FileContents(inputs, textOfFile && ((part) => textOfFile(part, context)));
  }

  /** @throws {QueryError} `limit_exceeded`: a file is too large for a model */
  async read({ parts }: Query): Promise<Prompt> {
    const content: UserParts = [];
    for (const part of parts)
      content.push(part.type === 'text' ? { type: 'text', text: part.text } : await this.#userFile(part));
    const question: ModelMessage = { role: 'user', content };
    const turns = await this.#newestTurns(this.settings.contextTokens - estimateTokens([question]));
    return {
      messages: joined([...turns.flat(), question]),
      turnsLeftOut: this.context.history.length - turns.length,
    };
  }

  /** The newest turns that have so many tokens together. Older ones are not even read: their files take memory. */
  async #newestTurns(tokens: number): Promise<ModelMessage[][]> {
    const turns: ModelMessage[][] = [];
    let rest = tokens;
    for (const turn of this.context.history.toReversed()) {
      const messages = await this.#turn(turn);
      rest -= estimateTokens(messages);
      if (rest < 0) break;
      turns.unshift(messages);
    }
    return turns;
  }

  async #turn(turn: Turn): Promise<ModelMessage[]> {
    const content: UserParts = [];
    for (const part of turn.parts)
      content.push(
        part.type === 'text' ? { type: 'text', text: part.text } : await this.#earlierFile(part, part.size),
      );
    const messages: ModelMessage[] = [{ role: 'user', content }];
    for (const step of answerSteps(turn)) messages.push(...(await this.#step(step)));
    return messages;
  }

  async #step({ text, files, calls }: AnswerStep): Promise<ModelMessage[]> {
    const content: Exclude<AssistantContent, string> = text === '' ? [] : [{ type: 'text', text }];
    for (const file of files) content.push(await this.#earlierFile(file));
    for (const { id, name, arguments: input } of calls)
      content.push({ type: 'tool-call', toolCallId: id, toolName: name, input: objectOf(input) });
    const results = calls.map(({ id, name, result, isError }) => ({
      type: 'tool-result' as const,
      toolCallId: id,
      toolName: name,
      output: outputOf(result, isError),
    }));
    return [
      { role: 'assistant', content },
      ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
    ];
  }

  async #userFile(part: FilePart): Promise<UserParts[number] & { type: 'text' | 'file' }> {
    const file = await this.#contents.of(part);
    if (file.type === 'text') return file;
    return { type: 'file', data: file.bytes, mediaType: file.mimeType, filename: file.name };
  }

  async #earlierFile(file: AnswerFile, size = 0): Promise<UserParts[number] & { type: 'text' | 'file' }> {
    const part = this.#contents.hasRoomFor(size) ? await historyFile(this.context, file) : undefined;
    if (part && this.#contents.hasRoomFor(part.file.size)) return this.#userFile(part);
    return { type: 'text', text: `[The file ${JSON.stringify(file.name)} is not shown again.]` };
  }
}

/** Neighbouring messages of the user become one: some models refuse a question that follows one without an answer. */
function joined(messages: ModelMessage[]): ModelMessage[] {
  return messages.reduce<ModelMessage[]>((before, message) => {
    const last = before.at(-1);
    if (last?.role !== 'user' || message.role !== 'user') return [...before, message];
    const content = [...(last.content as UserParts), ...(message.content as UserParts)];
    return [...before.slice(0, -1), { role: 'user', content }];
  }, []);
}

/** What a model has given as arguments may not be an object, and interfaces of models refuse that. */
function objectOf(input: unknown): object {
  return typeof input === 'object' && input !== null ? input : {};
}

function outputOf(result: unknown, isError: boolean) {
  if (typeof result === 'string')
    return { type: isError ? ('error-text' as const) : ('text' as const), value: result };
  return { type: isError ? ('error-json' as const) : ('json' as const), value: result as JSONValue };
}
