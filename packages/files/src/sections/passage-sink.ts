import { paced } from '../formats/paced.js';
import type { Aside, TextSink } from '../formats/text-sink.js';
import type { Passage, Passages, Place } from './passage.js';

/** Characters of a paragraph that are kept. The rest of a longer one follows as another passage. */
const LONGEST = 10_000;

/** Passages beside one paragraph that wait for its end. */
const MOST_BESIDE = 1000;

interface Paragraph {
  text: string;
  place?: Place;
}

/** Makes passages of the text of a document while it is read: its paragraphs, and what is beside the text. */
export class PassageSink implements TextSink {
  readonly #ready: Passage[] = [];
  /** What is beside the paragraph that is open. */
  readonly #beside: Passage[] = [];
  readonly #counts = new Map<string, number>();
  #open: Paragraph = { text: '' };
  /** The paragraph that goes on after what is beside the text. */
  #outer: Paragraph = { text: '' };
  #aside: { what: Aside; place?: Place } | undefined;

  /** Sentences about what is left out. */
  readonly leftOut = new Set<string>();

  /** @param place where the next paragraph begins. Without a line, paragraphs are counted */
  constructor(readonly place: Place = {}) {}

  add(text: string): void {
    if (this.#open.text === '' && text.trim() === '') return;
    this.#open.place ??= this.#nextPlace();
    this.#open.text += text;
    if (this.#open.text.length <= LONGEST) return;
    const { place, text: long } = this.#open;
    const end = long.lastIndexOf(' ') + 1 || long.length;
    this.#pass(long.slice(0, end), place);
    this.#open = { text: long.slice(end), place };
  }

  endParagraph(level?: number): string {
    const { text, place } = this.#open;
    if (text.trim() !== '') this.#pass(text, place, this.#aside ? undefined : level);
    if (!this.#aside) this.#ready.push(...this.#beside.splice(0));
    this.#open = { text: '' };
    return '';
  }

  openAside(what: Aside): void {
    this.#outer = this.#open;
    this.#open = { text: '' };
    this.#aside = { what };
  }

  closeAside(author = ''): void {
    this.endParagraph();
    const first = this.#beside.find(({ place }) => place === this.#aside?.place);
    if (first && author !== '') first.text = `${author}: ${first.text}`;
    this.#aside = undefined;
    this.#open = this.#outer;
    if (this.#open.text === '') this.#ready.push(...this.#beside.splice(0));
  }

  leaveOut(sentence: string): void {
    this.leftOut.add(sentence);
  }

  /** The passages since the last call. */
  take(): Passage[] {
    return this.#ready.splice(0);
  }

  #pass(text: string, place: Place = {}, level?: number): void {
    const passages = this.#aside && this.#beside.length < MOST_BESIDE ? this.#beside : this.#ready;
    passages.push({ place, text: text.trim(), isParagraph: true, ...(level !== undefined && { level }) });
  }

  #nextPlace(): Place {
    if (this.#aside) return (this.#aside.place ??= { ...this.place, aside: this.#nameOf(this.#aside.what) });
    if (this.place.line !== undefined) return { ...this.place };
    return { ...this.place, paragraph: this.#count('paragraph') };
  }

  #nameOf(what: Aside): string {
    const isNumbered = what.endsWith('note') || what === 'comment';
    return isNumbered ? `${what} ${this.#count(what)}` : what;
  }

  #count(what: string): number {
    const number = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, number);
    return number;
  }
}

/** The passages that a reader finds in chunks, no faster than they are taken. */
export function passagesFrom(
  chunks: AsyncGenerator<Uint8Array>,
  sink: PassageSink,
  read: (chunks: AsyncIterable<Uint8Array>) => Promise<void>,
): Passages {
  return paced<Passage>(chunks, read, () => sink.take());
}
