import type { InputRequest, RunEnd, RunView } from 'nest-agent-query';
import { JsonPieces, type Piece } from 'nest-agent-query/protocol';
import { AnswerForm, type Shown } from '../answer/answer-form.js';
import { citation } from '../answer/item-json.js';
import { type AnswerItem, type TextItem, type Usage } from '../answer/items.js';
import { errorOfEnd, type RunError, runError } from '../answer/run-error.js';
import { askedCall, askedId } from '../asking/asked-calls.js';
import { secondsOf } from '../seconds.js';

/** How a completion is shown. */
export interface ChatOptions extends Shown {
  /** The functions that the client executes. */
  functions: string[];
  includesUsage: boolean;
  isStream: boolean;
}

type FinishReason = 'stop' | 'tool_calls';

/** Writes a leg of a run as the chunks of a chat completion. */
export class ChatForm extends AnswerForm {
  /** Why there is no completion. */
  failure: RunError | undefined;
  #reason: FinishReason = 'stop';
  #calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[] = [];
  readonly #named: { id: string; created: number; model: string };
  readonly #head: string;

  constructor(
    private readonly run: RunView,
    model: string,
    private readonly options: ChatOptions,
  ) {
    super(options, options.isStream ? 0 : Infinity);
    const id = `chatcmpl-${run.id}${options.leg > 1 ? `-${options.leg}` : ''}`;
    this.#named = { id, created: secondsOf(run.createdAt), model };
    const chunk = JSON.stringify({ ...this.#named, object: 'chat.completion.chunk' }).slice(0, -1);
    this.#head = `${chunk},"choices":[{"index":0,"delta":`;
  }

  /** The completion, unless there is none. */
  get completion() {
    const texts = this.items.filter((item): item is TextItem => item.type === 'message');
    const isEmpty = texts.every(({ text }) => text.isEmpty);
    const content =
      isEmpty && this.#calls.length > 0
        ? null
        : new JsonPieces(['"', ...texts.map(({ text }) => text.json), '"']);
    const annotations = texts.flatMap((text) => text.annotations.map(annotationOf));
    const calls = this.#calls.length > 0 && { tool_calls: this.#calls };
    const message = { role: 'assistant', content, refusal: null, annotations, ...calls };
    return {
      ...this.#named,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: null, finish_reason: this.#reason }],
      ...(this.usage && { usage: usageOf(this.usage) }),
    };
  }

  /** At once, although the run may wait or be silent. */
  protected override begin(): void {
    this.write(this.#chunk('{"role":"assistant","content":""}'));
  }

  protected override opened(): void {}

  protected override added({ type }: TextItem, text: string): void {
    if (!this.isShown || type === 'reasoning') return;
    this.write(this.#chunk(`{"content":${text}}`));
  }

  protected override taken({ text }: TextItem): void {
    if (this.isShown) this.writePieces(this.#pieces(['{"content":"', text.json, '"}']));
  }

  protected override annotated({ annotations }: TextItem): void {
    this.#tell({ annotations: [annotationOf(annotations.at(-1)!)] });
  }

  protected override closed(): void {}

  protected override told(item: Exclude<AnswerItem, TextItem>): void {
    if (item.type !== 'asked' || !this.isShown) return;
    const { request } = item;
    const asked = askedCall(request);
    if (request.kind !== 'tool' && !this.options.functions.includes(asked.name))
      return this.#fail(unanswerable(request, asked.name));
    const index = this.#calls.length;
    const call = { id: askedId('call', this.run.id, request.id), type: 'function', function: asked } as const;
    this.#calls.push(call);
    this.#tell({ tool_calls: [{ index, ...call }] });
  }

  /** Of a stream, nothing can be taken back. */
  protected override restarted(hasVoidText: boolean): void {
    if (!this.isShown || !this.options.isStream || !hasVoidText) return;
    const detail = 'The answer was interrupted, and its end does not fit what was sent. Ask again.';
    this.#fail(runError('interrupted', detail));
    this.#end();
  }

  protected override paused(): void {
    this.#reason = 'tool_calls';
    this.#end();
  }

  protected override ended(end: RunEnd): void {
    this.#fail(errorOfEnd(end));
    this.#end();
  }

  #fail(failure: RunError | undefined): void {
    this.failure ??= failure;
  }

  #end(): void {
    this.isOver = true;
    if (this.failure) return this.write(JSON.stringify({ error: this.failure }));
    this.write(this.#chunk('{}', `"${this.#reason}"`));
    if (this.options.includesUsage && this.usage) {
      const last = {
        ...this.#named,
        object: 'chat.completion.chunk',
        choices: [],
        usage: usageOf(this.usage),
      };
      this.write(JSON.stringify(last));
    }
    this.write('[DONE]');
  }

  #tell(delta: object): void {
    if (this.isShown) this.write(this.#chunk(JSON.stringify(delta)));
  }

  /** @param delta as JSON @param reason as JSON */
  #chunk(delta: string, reason = 'null'): string {
    return `${this.#head}${delta},"logprobs":null,"finish_reason":${reason}}]}`;
  }

  #pieces(delta: Piece[]): Piece[] {
    return [this.#head, ...delta, ',"logprobs":null,"finish_reason":null}]}'];
  }
}

function annotationOf(annotation: Parameters<typeof citation>[0]) {
  const { type, ...cited } = citation(annotation);
  return { type, url_citation: cited };
}

function unanswerable({ kind, message }: InputRequest, name: string): RunError {
  const detail =
    `The run asks for an answer of the kind "${kind}": ${message} ` +
    `Send a tool with the name "${name}" to answer it, or use the Responses API.`;
  return { message: detail, type: 'invalid_request_error', param: null, code: 'unanswerable' };
}

function usageOf({ inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 }: Usage) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}
