/** What a stream has sent: an event, or a comment that keeps the connection alive. */
export interface WireEvent {
  /** The id of the event, `{runId}.{number}`; undefined for what is no event. */
  id: string | undefined;
  /** The JSON of the event, or the line as it was sent. */
  raw: string;
  /** Milliseconds since the request was sent. */
  atMs: number;
  /** Milliseconds since what came before. */
  gapMs: number;
}

/** Splits a stream of Server-Sent Events into what was sent, for people: nothing is left out. */
export class EventLines {
  #rest = '';
  #id: string | undefined;

  /** @returns what has become whole with a chunk */
  feed(chunk: string): Pick<WireEvent, 'id' | 'raw'>[] {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop()!;
    return lines.flatMap((line) => this.#read(line));
  }

  #read(line: string): Pick<WireEvent, 'id' | 'raw'>[] {
    if (line === '') return [];
    if (line.startsWith('id:')) {
      this.#id = line.slice(3).trim();
      return [];
    }
    if (!line.startsWith('data:')) return [{ id: undefined, raw: line }];
    const event = { id: this.#id, raw: line.slice(5).trim() };
    this.#id = undefined;
    return [event];
  }
}
