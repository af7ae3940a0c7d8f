import type { Envelope, InputRequest, ResolvedInput, RunEnd } from 'nest-agent-query';
import { type LogText, LogTexts, usageSum } from 'nest-agent-query/protocol';
import { chunkOf, EventForm } from '../../view/event-form.js';
import { CallsOfRun } from './calls-of-run.js';
import { CONTENTS, isJsonOf, keptLength, plainLength } from './item-texts.js';
import { type AnswerItem, isText, type TextItem, type Usage } from './items.js';

/** What an item takes besides its texts, in characters. */
const ITEM_LENGTH = 256;

/** Which part of a run a response shows, and how. */
export interface Shown {
  /** The number of the leg, from 1. */
  leg: number;
  /** Whether the client wants a value: the text of the answer is its structured result, if there is one. */
  isStructured: boolean;
}

/** Reads the log of a run as items, and tells what has become of them, so that responses show one leg of it. */
export abstract class AnswerForm extends EventForm {
  /** Those of the leg. */
  items: AnswerItem[] = [];
  usage: Usage | undefined;
  /** How many legs the log has so far. */
  legs = 1;
  #open: TextItem | undefined;
  /** Sources and files that no text has yet. */
  #sources: { seq: number; url: string; title: string }[] = [];
  readonly #texts = new LogTexts(this);
  /** The text that a structured result may take the place of. */
  #late = this.#texts.begin(CONTENTS.message);
  /** How many characters are kept besides the texts. */
  #kept = 0;
  readonly #calls = new CallsOfRun();
  /** How many items the legs before have. */
  #before = 0;
  /** The first envelope of the leg. */
  #first = 1;

  constructor(
    protected readonly shown: Shown,
    from: number,
  ) {
    super(from);
  }

  override get held(): number {
    return this.#texts.held + this.#kept;
  }

  /** Whether the leg is the one that is shown. */
  protected get isShown(): boolean {
    return this.legs === this.shown.leg;
  }

  protected abstract opened(item: TextItem): void;
  /** @param text as JSON */
  protected abstract added(item: TextItem, text: string): void;
  /** An item that has its whole text from its beginning. */
  protected abstract taken(item: TextItem): void;
  /** The newest annotation of the text is new. */
  protected abstract annotated(item: TextItem): void;
  protected abstract closed(item: TextItem): void;
  /** An item that is complete. */
  protected abstract told(item: Exclude<AnswerItem, TextItem>): void;
  /** The items are again what they were before. @param hasVoidText whether a part of a message is void */
  protected abstract restarted(hasVoidText: boolean): void;
  protected abstract paused(): void;
  protected abstract ended(end: RunEnd): void;

  protected override read(line: string, seq: number): void {
    const text = chunkOf(line);
    if (text !== undefined) this.#add('message', undefined, text, seq);
    else this.#readEnvelope(JSON.parse(line) as Envelope, seq, line);
  }

  #readEnvelope({ type, data: value }: Envelope, seq: number, line: string): void {
    const data = value as never;
    this.#kept += keptLength(type, line);
    if (type === 'message' || type === 'reasoning') return this.#addChunk(type, data, seq);
    if (Object.hasOwn(this.#readers, type)) this.#readers[type]!(data, seq);
  }

  /** Any other type is no part of an answer. */
  readonly #readers: Record<string, (data: never, seq: number) => void> = {
    tool_call: (data: { id: string; name: string; arguments: unknown }, seq) => {
      this.#close();
      this.#calls.add({ ...data, seq });
    },
    tool_result: (data: { id: string; content: unknown; isError?: boolean }, seq) => this.#result(data, seq),
    source: ({ url, title = url }: { url: string; title?: string }, seq) => this.#cite(url, title, seq),
    file: ({ path, name }: { path: string; name: string }, seq) => this.#cite(path, name, seq),
    result: ({ value }: { value: unknown }, seq) =>
      this.#tellValue(JSON.stringify(JSON.stringify(value)), seq),
    usage: (data: Usage) => {
      this.usage = usageSum(this.usage, data);
    },
    input_required: ({ requests }: { requests: InputRequest[] }, seq) => this.#pause(requests, seq),
    input_resolved: ({ answers }: { answers: ResolvedInput[] }) => this.#calls.decide(answers),
    restarted: ({ from }: { from: number }) => this.#restart(from),
    done: (end: RunEnd, seq) => this.#end(end, seq),
  };

  #addChunk(type: TextItem['type'], { id, content }: { id?: string; content: string }, seq: number): void {
    this.#add(type, id, JSON.stringify(content), seq);
  }

  /** @param text as JSON */
  #add(type: TextItem['type'], id: string | undefined, text: string, seq: number): void {
    if (text === '""') return;
    if (type === 'message' && this.shown.isStructured) this.#late.add(text, seq);
    else this.#addTo(this.#textOf(type, id, seq), text, seq);
  }

  #addTo(item: TextItem, text: string, seq: number): void {
    item.text.add(text, seq);
    item.length += plainLength(text);
    this.added(item, text);
  }

  /** The open text, if the chunk belongs to it; otherwise a new one. */
  #textOf(type: TextItem['type'], id: string | undefined, seq: number, known?: LogText): TextItem {
    const open = this.#open;
    if (open?.type === type && open.id === id) return open;
    this.#close();
    const text = known ?? this.#texts.begin(CONTENTS[type]);
    const item: TextItem = { type, number: this.#next, seq, id, text, length: 0, annotations: [] };
    this.#kept += ITEM_LENGTH;
    this.#open = item;
    this.items.push(item);
    this.opened(item);
    const sources = type === 'message' ? this.#sources.splice(0) : [];
    for (const source of sources) this.#annotate(item, source);
    return item;
  }

  get #next(): number {
    return this.#before + this.items.length;
  }

  #close(): void {
    const item = this.#open;
    this.#open = undefined;
    if (item) this.closed(item);
  }

  #cite(url: string, title: string, seq: number): void {
    if (this.#open?.type === 'message') this.#annotate(this.#open, { seq, url, title });
    else this.#sources.push({ seq, url, title });
  }

  #annotate(item: TextItem, source: { seq: number; url: string; title: string }): void {
    item.annotations.push({ ...source, at: item.length });
    this.annotated(item);
  }

  #result({ id, ...result }: { id: string; content: unknown; isError?: boolean }, seq: number): void {
    if (this.#calls.isOfClient(id)) return;
    this.#close();
    const call = this.#calls.find(id) ?? { seq, name: '', arguments: {} };
    const item = { type: 'call', number: this.#next, seq, call, result } as const;
    this.items.push(item);
    this.told(item);
  }

  /** A text that says the same as the structured result is not followed by it. @param value JSON, as JSON */
  #tellValue(value: string, seq: number): void {
    const last = this.items.findLast(({ type }) => type === 'message') as TextItem | undefined;
    if (!this.shown.isStructured && isJsonOf(last?.text.short, value)) return;
    this.#late.cut(0);
    this.#close();
    this.#addTo(this.#textOf('message', undefined, seq, this.#texts.begin(CONTENTS.result)), value, seq);
    this.#close();
  }

  #pause(requests: InputRequest[], seq: number): void {
    this.#settle(seq);
    for (const request of requests) {
      this.#calls.ask(request, seq);
      const item = { type: 'asked', number: this.#next, seq, request } as const;
      this.items.push(item);
      this.told(item);
    }
    if (!this.isShown) return this.#nextLeg(seq);
    this.paused();
    this.isOver = true;
  }

  #nextLeg(seq: number): void {
    this.legs++;
    this.#before = this.#next;
    for (const item of this.items) if (isText(item)) item.text.cut(0);
    this.items = [];
    this.usage = undefined;
    // What this envelope adds to them comes first.
    this.#first = seq;
  }

  #restart(from: number): void {
    this.#open = undefined;
    const isValid = ({ seq }: { seq: number }) => seq <= from;
    const texts = this.items.filter(isText);
    const hasVoidText = texts.some(({ type, text }) => type === 'message' && text.last > from);
    for (const { text } of texts) text.cut(from);
    this.items = this.items.filter(isValid);
    this.#sources = this.#sources.filter(isValid);
    this.#calls.restart(from);
    this.#late.cut(from);
    const last = this.items.at(-1);
    if (isText(last)) last.annotations = last.annotations.filter(isValid);
    this.restarted(hasVoidText);
  }

  #end(end: RunEnd, seq: number): void {
    if (this.#open && end.status !== 'completed') this.#open.isCut = true;
    this.#settle(seq);
    const answered = new Set(this.items.map((item) => (item.type === 'call' ? item.call : undefined)));
    for (const call of this.#calls.openSince(this.#first)) {
      if (answered.has(call)) continue;
      const item = { type: 'call', number: this.#next, seq, call, result: undefined } as const;
      this.items.push(item);
      this.told(item);
    }
    this.ended(end);
    this.isOver = true;
  }

  /** Nothing more belongs to the texts: what was held back for them is told. */
  #settle(seq: number): void {
    this.#close();
    if (!this.#late.isEmpty) this.taken(this.#textOf('message', undefined, seq, this.#late));
    else if (this.#sources.length > 0) this.#textOf('message', undefined, seq);
    this.#late = this.#texts.begin(CONTENTS.message);
    this.#close();
  }
}
