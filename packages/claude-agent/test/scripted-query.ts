import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FakeModel, type ModelAct, ModelRefusal } from '../../../test/contracts/adapters/fake-model.js';
import type { ClaudeExecution, ClaudeMessage, ClaudePrompt, ClaudeQuery, HookedCall } from '../src/index.js';
import { seenMessages } from './seen-messages.js';

type Block = Record<string, unknown> & { type: string };

/** A message of the conversation, as it is written down. */
export interface KeptMessage {
  role: 'user' | 'assistant';
  content: Block[];
}

/** A tool of the scripted Claude Code. */
export interface ScriptedTool {
  name: string;
  execute: (args: Record<string, unknown>) => unknown;
}

interface Options {
  resume?: string;
  sessionId?: string;
  env: { CLAUDE_CONFIG_DIR: string };
  hooks: { PreToolUse: { hooks: ((call: HookedCall) => Promise<{ hookSpecificOutput?: Decision }>)[] }[] };
}

interface Decision {
  permissionDecision: 'allow' | 'deny' | 'defer';
  permissionDecisionReason?: string;
  updatedInput?: Record<string, unknown>;
}

/** `query` of the SDK 0.3.332, with a model that does what a test says: the order of its messages, its conversations and its hooks. */
export function scriptedQuery(model: FakeModel, tools: ScriptedTool[]): ClaudeQuery {
  return ({ prompt, options }) => new ScriptedExecution(model, tools, prompt, options);
}

class ScriptedExecution implements ClaudeExecution {
  readonly #abort = new AbortController();
  readonly #path: string;
  readonly #messages: KeptMessage[];
  #deferred: Block | undefined;

  constructor(
    private readonly model: FakeModel,
    private readonly tools: ScriptedTool[],
    private readonly prompt: AsyncIterable<ClaudePrompt>,
    private readonly options: Options,
  ) {
    const folder = join(options.env.CLAUDE_CONFIG_DIR, 'projects/work');
    mkdirSync(folder, { recursive: true });
    this.#path = join(folder, `${options.resume ?? options.sessionId}.jsonl`);
    const lines = existsSync(this.#path) ? readFileSync(this.#path, 'utf8').split('\n') : [];
    if (options.resume && lines.length === 0) throw new Error('No conversation found.');
    if (options.sessionId && lines.length > 0) throw new Error('The session ID is already in use.');
    this.#messages = lines.filter(Boolean).map((line) => JSON.parse(line) as KeptMessage);
  }

  interrupt(): Promise<unknown> {
    this.#abort.abort();
    return Promise.resolve({ still_queued: [] });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ClaudeMessage> {
    const asked = this.prompt[Symbol.asyncIterator]();
    const waiting = this.#waitingCall();
    if (waiting) {
      yield* this.#results([waiting], false);
      yield* this.#work();
    }
    for (let next = await asked.next(); !next.done; next = await asked.next()) {
      this.#keep({ role: 'user', content: next.value.message.content });
      yield* this.#work();
    }
  }

  /** The model is asked until it calls no tool any more, or a call waits. */
  async *#work(): AsyncGenerator<ClaudeMessage> {
    try {
      for (;;) {
        yield { type: 'system', subtype: 'init' };
        const calls: Block[] = [];
        yield* this.#step(calls);
        if (calls.length === 0) break;
        yield* this.#results(calls, true);
        if (this.#deferred) break;
      }
    } catch (error) {
      yield this.#failed(error);
      throw new Error('Claude Code returned an error result: it failed.', { cause: error });
    }
    const deferred = this.#deferred;
    this.#deferred = undefined;
    yield {
      type: 'result',
      subtype: 'success',
      is_error: false,
      stop_reason: deferred ? 'tool_deferred' : 'end_turn',
      ...(deferred && {
        deferred_tool_use: { id: deferred['id'], name: deferred['name'], input: deferred['input'] },
      }),
    };
  }

  #failed(error: unknown): ClaudeMessage {
    if (!(error instanceof ModelRefusal))
      return {
        type: 'result',
        subtype: 'error_during_execution',
        is_error: true,
        errors: ['[ede_diagnostic]'],
      };
    const { status, body } = error;
    const end = { terminal_reason: 'api_error', api_error_status: status };
    return {
      type: 'result',
      subtype: 'success',
      is_error: true,
      result: `API Error: ${status} ${body}`,
      ...end,
    };
  }

  async *#step(calls: Block[]): AsyncGenerator<ClaudeMessage> {
    const id = `msg_${randomUUID()}`;
    const said: Block[] = [];
    const request = { messages: seenMessages(this.#messages), tools: this.tools.map(({ name }) => name) };
    const acts = this.model.answer(request, this.#abort.signal);
    const streamed = new StreamedMessage(id);
    let isWhole = false;
    try {
      for await (const act of acts) {
        // The real one delivers what comes at once in several turns of the event loop too.
        await new Promise(setImmediate);
        yield* streamed.events(act);
        const block = blockOf(act);
        if (block) {
          said.push(block);
          yield { type: 'assistant', message: { id, model: 'fake-1', content: [block], stop_reason: null } };
        }
        if (block?.type === 'tool_use') calls.push(block);
        isWhole ||= act.type === 'end';
      }
    } catch (error) {
      if (error instanceof ModelRefusal || this.#abort.signal.aborted) throw error;
      isWhole = false;
    }
    yield { type: 'stream_event', event: { type: 'message_stop' } };
    // Claude Code takes a cut for the end.
    this.#keep({ role: 'assistant', content: said });
    if (!isWhole) calls.length = 0;
  }

  async *#results(calls: Block[], isNew: boolean): AsyncGenerator<ClaudeMessage> {
    for (const call of calls) {
      const { id, name, input } = call as unknown as {
        id: string;
        name: string;
        input: Record<string, unknown>;
      };
      const hooked = {
        tool_name: name,
        tool_input: input,
        tool_use_id: id,
        ...(isNew && { prompt_id: 'p' }),
      };
      const [{ hooks }] = this.options.hooks.PreToolUse as [
        { hooks: [(call: HookedCall) => Promise<object>] },
      ];
      const { hookSpecificOutput: decision } = (await hooks[0](hooked)) as { hookSpecificOutput?: Decision };
      if (decision?.permissionDecision === 'defer') {
        this.#deferred = call;
        continue;
      }
      const isDenied = decision?.permissionDecision !== 'allow';
      const content = isDenied
        ? `PreToolUse:${name} hook error: ${decision?.permissionDecisionReason}`
        : textOf(await this.#tool(name).execute(decision?.updatedInput ?? input));
      const result = { type: 'tool_result', tool_use_id: id, content, ...(isDenied && { is_error: true }) };
      const message: KeptMessage = { role: 'user', content: [result] };
      this.#keep(message);
      yield { type: 'user', message, parent_tool_use_id: null, tool_use_result: content };
    }
  }

  #tool(name: string): ScriptedTool {
    return this.tools.find((tool) => tool.name === name)!;
  }

  /** Of several calls that wait, the newest one: a later call may have the id of an earlier one. */
  #waitingCall(): Block | undefined {
    const blocks = this.#messages.flatMap(({ content }) => content);
    return blocks.findLast(
      ({ type, id }, index) =>
        type === 'tool_use' && !blocks.slice(index).some((block) => block['tool_use_id'] === id),
    );
  }

  #keep(message: KeptMessage): void {
    this.#messages.push(message);
    appendFileSync(this.#path, `${JSON.stringify(message)}\n`);
  }
}

/** The events of a message. */
class StreamedMessage {
  #hasBegun = false;

  constructor(private readonly id: string) {}

  *events(act: ModelAct): Generator<ClaudeMessage> {
    if (!this.#hasBegun) {
      const message = { id: this.id, model: 'fake-1', usage: { input_tokens: 1, output_tokens: 1 } };
      yield this.#event({ type: 'message_start', message });
    }
    this.#hasBegun = true;
    const delta = deltaOf(act);
    if (delta) yield this.#event({ type: 'content_block_delta', index: 0, delta });
    if (act.type !== 'end') return;
    const { inputTokens, outputTokens, reasoningTokens: thinking, cachedInputTokens: cached = 0 } = act.usage;
    const usage = {
      input_tokens: inputTokens - cached,
      cache_read_input_tokens: cached,
      output_tokens: outputTokens,
      output_tokens_details: { thinking_tokens: thinking ?? 0 },
    };
    yield this.#event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
  }

  #event(event: object): ClaudeMessage {
    return { type: 'stream_event', event, parent_tool_use_id: null };
  }
}

function deltaOf(act: ModelAct): object | undefined {
  if (act.type === 'text') return { type: 'text_delta', text: act.text };
  if (act.type === 'reasoning') return { type: 'thinking_delta', thinking: act.text };
  if (act.type === 'callBegin') return { type: 'input_json_delta', partial_json: act.argumentsText };
  return undefined;
}

function blockOf(act: ModelAct): Block | undefined {
  if (act.type === 'text') return { type: 'text', text: act.text };
  if (act.type === 'reasoning') return { type: 'thinking', thinking: act.text };
  if (act.type === 'call') return { type: 'tool_use', id: act.id, name: act.name, input: act.arguments };
  return undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
