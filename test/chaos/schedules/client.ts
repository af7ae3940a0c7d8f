import type { Envelope } from '../../../src/index.js';
import type { Reply } from '../../support/client.js';
import type { ModelRun } from './model.js';

/** A client that follows a run. */
export class Client {
  /**
   * @param run the run that it follows
   * @param after the number of the last envelope that it had before
   */
  constructor(
    readonly reply: Reply,
    readonly run: ModelRun,
    private readonly after: number,
  ) {}

  /** The JSON texts of the envelopes that it has read. */
  get texts(): string[] {
    return this.reply.events.map(({ data }) => data);
  }

  /** Resolves when it has read a message that begins with this text. */
  async hasRead(text: string): Promise<void> {
    await this.reply.until(`"content":"${text}`);
  }

  /** Waits for the end of the stream. */
  async finished(): Promise<void> {
    await this.reply.whole();
    this.note();
  }

  cut(): void {
    this.note();
    this.reply.cut();
  }

  /** Compares what it has read with what other clients of the run have read. */
  note(): void {
    const isFull = this.reply.text.startsWith('retry:');
    for (const [index, { id, data }] of this.reply.events.entries()) {
      const seq = this.after + index + 1;
      if (isFull && id !== `${this.run.id}.${seq}`) {
        throw new Error(`Run ${this.run.id}: the event ${id} is at the place of ${seq}.`);
      }
      const seen = this.run.seen[seq - 1];
      if (seen !== undefined && seen !== data) {
        throw new Error(`Run ${this.run.id}: envelope ${seq} was ${seen}, and is now ${data}.`);
      }
      this.run.seen[seq - 1] = data;
    }
  }
}

/** The contents of the messages of a log. */
export function messagesOf(texts: string[]): string[] {
  return texts.flatMap((text) => {
    const { type, data } = JSON.parse(text) as Envelope;
    return type === 'message' ? [(data as { content: string }).content] : [];
  });
}

/** How the `done` at the end of a log says that the run ended; undefined without one. */
export function endOf(texts: string[]): string | undefined {
  const last = texts.at(-1);
  if (last === undefined) return undefined;
  const { type, data } = JSON.parse(last) as Envelope;
  if (type !== 'done') return undefined;
  const { status, error } = data as { status: string; error?: { code: string } };
  return error?.code ?? status;
}

/** How many envelopes of the type `done` a log has. */
export function countDone(texts: string[]): number {
  return texts.filter((text) => (JSON.parse(text) as Envelope).type === 'done').length;
}
