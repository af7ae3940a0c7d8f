import type {
  Envelope,
  FileEnvelope,
  MessageEnvelope,
  ProgressEnvelope,
  RunEnd,
  SourceEnvelope,
} from 'nest-agent-query';
import { type LogSlice, type LogText, LogTexts, type ReadLog } from 'nest-agent-query/protocol';

/** A piece of an answer, in the order of the log. */
export type Piece =
  | { type: 'text'; id: string | undefined; text: LogText }
  | { type: 'file'; file: FileEnvelope['data'] }
  | { type: 'source'; source: SourceEnvelope['data'] };

/** How many characters of an answer a notification of progress tells at most. */
const TOLD_LENGTH = 4096;

/** Two copies of what is no text are made: as it is, and in the JSON of the answer. */
const COPIES = 2;

/** What the log of a run says to the caller of a tool. It is read from its beginning. */
export class CallLog {
  /** The number of the last envelope that was read. */
  seq = 0;
  /** The number of the last envelope with questions; 0 if there is none. */
  asked = 0;
  end: RunEnd | undefined;
  /** Reads the log again, for long texts. */
  log: ReadLog | undefined;
  readonly #texts = new LogTexts(this);
  /** How many characters are kept besides the texts. */
  #kept = 0;
  #pieces: { seq: number; piece: Piece }[] = [];
  #result: { seq: number; value: unknown } | undefined;
  #news = '';

  read({ first, lines, count }: LogSlice): void {
    if (count === 0) return;
    this.seq = first - 1;
    for (const line of lines.split('\n')) this.#add(JSON.parse(line) as Envelope, line);
    this.#news = this.#news.slice(-TOLD_LENGTH);
  }

  /** How many characters are held of what was read. */
  get held(): number {
    return this.#texts.held + this.#kept;
  }

  /** What is new since the last call, for a person who waits: the text of the answer, or what the run does. */
  news(): string {
    const news = this.#news;
    this.#news = '';
    return news;
  }

  /** The structured result of the run, if it has one. */
  get result(): { value: unknown } | undefined {
    return this.#result;
  }

  /** The answer. Neighbouring chunks of a message are one piece. */
  get pieces(): Piece[] {
    return this.#pieces.map(({ piece }) => piece);
  }

  #add({ type, data }: Envelope, line: string): void {
    this.seq++;
    const members = data as Record<string, unknown>;
    if (type === 'message') {
      const { content, id } = members as { content: string; id?: string };
      this.#news += content;
      this.#textOf(id).add(JSON.stringify(content), this.seq);
    } else if (KEPT.has(type)) this.#keep(type, members, line);
    else if (type === 'log') this.#news ||= members['message'] as string;
    else if (type === 'progress') this.#news ||= progressText(data as ProgressEnvelope['data']);
    else if (type === 'input_required') this.asked = this.seq;
    else if (type === 'restarted') this.#void(members['from'] as number);
    else if (type === 'done') this.end = data as RunEnd;
  }

  #keep(type: string, data: Record<string, unknown>, { length }: string): void {
    this.#kept += COPIES * length;
    if (type === 'result') this.#result = { seq: this.seq, value: data['value'] };
    else if (type === 'file') this.#push({ type, file: data as FileEnvelope['data'] });
    else this.#push({ type: 'source', source: data as SourceEnvelope['data'] });
  }

  /** The newest piece, if it is a text that a chunk belongs to; otherwise a new one. */
  #textOf(id: string | undefined): LogText {
    const newest = this.#pieces.at(-1)?.piece;
    if (newest?.type === 'text' && newest.id === id) return newest.text;
    const text = this.#texts.begin(contentOf);
    this.#push({ type: 'text', id, text });
    return text;
  }

  #push(piece: Piece): void {
    this.#pieces.push({ seq: this.seq, piece });
  }

  /** The run goes on from a checkpoint: what came after it is void. */
  #void(after: number): void {
    this.#pieces = this.#pieces.filter(({ seq, piece }) => {
      if (piece.type === 'text') piece.text.cut(after);
      return seq <= after;
    });
    if (this.#result && this.#result.seq > after) this.#result = undefined;
  }
}

const KEPT = new Set(['file', 'source', 'result']);

/** The content of a chunk of a message, as JSON. Undefined if the envelope is another one. */
function contentOf(line: string): string | undefined {
  if (!line.startsWith('{"type":"message"')) return undefined;
  return JSON.stringify((JSON.parse(line) as MessageEnvelope).data.content);
}

function progressText({ done, total, unit, label }: ProgressEnvelope['data']): string {
  const amount = [`${done}${total === undefined ? '' : ` of ${total}`}`, unit].filter(Boolean).join(' ');
  return label === undefined ? amount : `${label}: ${amount}`;
}
