import type { Envelope, FileEnvelope, ProgressEnvelope, RunEnd, SourceEnvelope } from 'nest-agent-query';
import type { LogSlice } from 'nest-agent-query/protocol';

/** A piece of an answer, in the order of the log. */
export type Piece =
  | { type: 'text'; id: string | undefined; text: string }
  | { type: 'file'; file: FileEnvelope['data'] }
  | { type: 'source'; source: SourceEnvelope['data'] };

/** How many characters of an answer a notification of progress tells at most. */
const TOLD_LENGTH = 4096;

/** What the log of a run says to the caller of a tool. It is read from its beginning. */
export class CallLog {
  /** The number of the last envelope that was read. */
  seq = 0;
  /** The number of the last envelope with questions; 0 if there is none. */
  asked = 0;
  end: RunEnd | undefined;
  #pieces: { seq: number; piece: Piece }[] = [];
  #result: { seq: number; value: unknown } | undefined;
  #news = '';

  read({ first, lines, count }: LogSlice): void {
    if (count === 0) return;
    this.seq = first - 1;
    for (const line of lines.split('\n')) this.#add(JSON.parse(line) as Envelope);
  }

  /** What is new since the last call, for a person who waits: the text of the answer, or what the run does. */
  news(): string {
    const news = this.#news.slice(-TOLD_LENGTH);
    this.#news = '';
    return news;
  }

  /** The structured result of the run, if it has one. */
  get result(): { value: unknown } | undefined {
    return this.#result;
  }

  /** The answer. Neighbouring chunks of a message are one piece. */
  get pieces(): Piece[] {
    const joined: Piece[] = [];
    for (const { piece } of this.#pieces) {
      const last = joined.at(-1);
      if (piece.type === 'text' && last?.type === 'text' && last.id === piece.id) last.text += piece.text;
      else joined.push({ ...piece });
    }
    return joined;
  }

  #add({ type, data }: Envelope): void {
    this.seq++;
    const members = data as Record<string, unknown>;
    if (type === 'message') {
      const { content, id } = members as { content: string; id?: string };
      this.#news += content;
      this.#push({ type: 'text', id, text: content });
    } else if (type === 'file') this.#push({ type: 'file', file: data as FileEnvelope['data'] });
    else if (type === 'source') this.#push({ type: 'source', source: data as SourceEnvelope['data'] });
    else if (type === 'result') this.#result = { seq: this.seq, value: members['value'] };
    else if (type === 'log') this.#news ||= members['message'] as string;
    else if (type === 'progress') this.#news ||= progressText(data as ProgressEnvelope['data']);
    else if (type === 'input_required') this.asked = this.seq;
    else if (type === 'restarted') this.#void(members['from'] as number);
    else if (type === 'done') this.end = data as RunEnd;
  }

  #push(piece: Piece): void {
    this.#pieces.push({ seq: this.seq, piece });
  }

  /** The run goes on from a checkpoint: what came after it is void. */
  #void(after: number): void {
    this.#pieces = this.#pieces.filter(({ seq }) => seq <= after);
    if (this.#result && this.#result.seq > after) this.#result = undefined;
  }
}

function progressText({ done, total, unit, label }: ProgressEnvelope['data']): string {
  const amount = [`${done}${total === undefined ? '' : ` of ${total}`}`, unit].filter(Boolean).join(' ');
  return label === undefined ? amount : `${label}: ${amount}`;
}
