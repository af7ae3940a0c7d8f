import type { RunEnd, RunView } from 'nest-agent-query';
import { JsonPieces, type Piece } from 'nest-agent-query/protocol';
import { AnswerForm } from '../answer/answer-form.js';
import { citation, ItemJson } from '../answer/item-json.js';
import type { AnswerItem, TextItem } from '../answer/items.js';
import { errorOfEnd, type RunError } from '../answer/run-error.js';
import type { ResponseId } from './response-id.js';
import { ResponseJson, type ResponseState, type ResponseStatus } from './response-json.js';

/** The events of a text, by what it is: the delta, the whole text, and its part. */
const TEXT_EVENTS = {
  message: { text: 'output_text', part: 'content_part', index: 'content_index', logprobs: ',"logprobs":[]' },
  reasoning: {
    text: 'reasoning_summary_text',
    part: 'reasoning_summary_part',
    index: 'summary_index',
    logprobs: '',
  },
} as const;

/** Writes a leg of a run as the events of a response. */
export class ResponseForm extends AnswerForm {
  readonly #json: ResponseJson;
  readonly #items: ItemJson;
  #end: Pick<ResponseState, 'status' | 'error'> = { status: 'in_progress', error: null };
  /** Why the leg has no whole answer; undefined if it has one, or has not ended. */
  failure: RunError | undefined;
  /** Of the open text: the members of its events that name it, as JSON. */
  #place = '';
  /** The frames of its deltas: what is before the number, and between the number and the text. Few pieces are joined faster. */
  #deltas = { head: '', rest: '' };

  /** @param from the number of the first event that is written; Infinity for an answer that is no stream */
  constructor(id: ResponseId, run: RunView, model: string, from: number) {
    super(id, from);
    this.#json = new ResponseJson(id, run, model);
    this.#items = new ItemJson(run.id);
  }

  /** The response as it is at present. @param known what is known of it besides the log */
  response(known: Partial<ResponseState> = {}): JsonPieces {
    return new JsonPieces(this.#response(known));
  }

  /** At once, although the run may wait or be silent. */
  protected override begin(): void {
    for (const type of ['response.created', 'response.in_progress'])
      this.writePieces(
        [`{"type":"${type}","sequence_number":${this.number},"response":`, ...this.#response(), '}'],
        `event: ${type}\n`,
      );
  }

  protected override opened(item: TextItem): void {
    const { text, part, index, logprobs } = TEXT_EVENTS[item.type];
    const at = this.items.length - 1;
    this.#place = `"item_id":"${this.#items.id(item)}","output_index":${at},"${index}":0`;
    const type = `response.${text}.delta`;
    const head = `event: ${type}\ndata: {"type":"${type}","sequence_number":`;
    this.#deltas = { head, rest: `,${this.#place}${logprobs},"delta":` };
    this.#event(
      'response.output_item.added',
      `"output_index":${at},"item":`,
      ...this.#items.item(item, true),
    );
    const empty = this.#items.part({ type: item.type, annotations: [] }, '');
    this.#event(`response.${part}.added`, `${this.#place},"part":`, ...empty);
  }

  protected override added(_: TextItem, text: string): void {
    if (!this.isShown) return;
    const { head, rest } = this.#deltas;
    this.writeFrame(`${head}${this.number}${rest}${text}}\n\n`);
  }

  protected override taken({ type, text }: TextItem): void {
    const { text: name, logprobs } = TEXT_EVENTS[type];
    this.#event(`response.${name}.delta`, `${this.#place}${logprobs},"delta":"`, text.json, '"');
  }

  protected override annotated({ annotations }: TextItem): void {
    const annotation = JSON.stringify(citation(annotations.at(-1)!));
    const at = `"annotation_index":${annotations.length - 1},"annotation":${annotation}`;
    this.#event('response.output_text.annotation.added', `${this.#place},${at}`);
  }

  protected override closed(item: TextItem): void {
    const { text, part, logprobs } = TEXT_EVENTS[item.type];
    const whole = item.text.json;
    const at = `"output_index":${this.items.length - 1}`;
    this.#event(`response.${text}.done`, `${this.#place},"text":"`, whole, `"${logprobs}`);
    this.#event(`response.${part}.done`, `${this.#place},"part":`, ...this.#items.part(item, whole));
    this.#event('response.output_item.done', `${at},"item":`, ...this.#items.item(item));
  }

  protected override told(item: Exclude<AnswerItem, TextItem>): void {
    const at = `"output_index":${this.items.length - 1}`;
    const whole = item.type === 'call' ? this.#items.call(item) : this.#items.asked(item);
    const { id, type, arguments: args } = whole;
    const named = `"item_id":${JSON.stringify(id)},${at}`;
    const hasArguments = type !== 'mcp_approval_request';
    const begun = hasArguments ? { ...whole, ...BEGUN[type as keyof typeof BEGUN] } : whole;
    this.#event('response.output_item.added', `${at},"item":${JSON.stringify(begun)}`);
    if (item.type === 'call') this.#event('response.mcp_call.in_progress', named);
    if (hasArguments) {
      const text = JSON.stringify(args);
      const name = type === 'function_call' ? `,"name":${JSON.stringify(whole.name)}` : '';
      this.#event(`response.${type}_arguments.delta`, `${named},"delta":${text}`);
      this.#event(`response.${type}_arguments.done`, `${named}${name},"arguments":${text}`);
    }
    if (item.type === 'call' && item.result)
      this.#event(`response.mcp_call.${item.result.isError ? 'failed' : 'completed'}`, named);
    this.#event('response.output_item.done', `${at},"item":${JSON.stringify(whole)}`);
  }

  /** Clients take the response of this event in the place of what they have. */
  protected override restarted(): void {
    this.#told('response.in_progress');
  }

  protected override paused(): void {
    this.#finish('response.completed', 'completed');
  }

  protected override ended(end: RunEnd): void {
    const error = errorOfEnd(end);
    if (!error) return this.#finish('response.completed', 'completed');
    this.#fail(error);
    if (end.status === 'failed') this.#finish('response.failed', 'failed', error);
    // There is no event for a response that was cancelled.
    else this.#finish('response.incomplete', 'cancelled');
  }

  /** Several clients show no other event of a failure. Some read the members of `error`, some those beside it. */
  #fail(error: RunError): void {
    if (!this.isShown) return;
    this.failure = error;
    const { type: _, ...members } = error;
    this.#event('error', JSON.stringify({ ...members, error }).slice(1, -1));
  }

  #finish(type: string, status: ResponseStatus, error: ResponseState['error'] = null): void {
    if (!this.isShown) return;
    this.#end = { status, error };
    this.#told(type);
  }

  #told(type: string): void {
    this.#event(type, '"response":', ...this.#response());
  }

  #response(known: Partial<ResponseState> = {}): Piece[] {
    const items = this.isShown ? this.items.map((item) => this.#items.item(item)) : [];
    return this.#json.pieces({ ...this.#end, usage: this.usage, ...known }, items);
  }

  /** @param members its own members, as JSON */
  #event(type: string, ...members: Piece[]): void {
    if (!this.isShown) return;
    const head = `{"type":"${type}","sequence_number":${this.number},`;
    this.writePieces([head, ...members, '}'], `event: ${type}\n`);
  }
}

/** How an item begins whose arguments follow. */
const BEGUN = {
  function_call: { arguments: '', status: 'in_progress' },
  mcp_call: { arguments: '', status: 'in_progress', output: null, error: null },
};
