import { setTimeout, clearTimeout } from 'node:timers';
import { createParser } from 'eventsource-parser';
import { fetchEventSource } from '@microsoft/fetch-event-source';

/** An envelope as a client reads it, with the id of its event where the client supports ids. */
export interface Read {
  id?: string;
  envelope: unknown;
}

const QUERY = '{"parts":[{"type":"text","text":"Hello"}]}';
const JSON_TYPE = { 'content-type': 'application/json' };

async function* textOf(url: string, headers: Record<string, string>): AsyncGenerator<string> {
  const response = await fetch(`${url}/query`, {
    method: 'POST',
    headers: { ...JSON_TYPE, ...headers },
    body: QUERY,
  });
  yield* response.body!.pipeThrough(new TextDecoderStream());
}

/** Yields the texts between separators, and at the end the text after the last one. */
async function* split(text: AsyncIterable<string>, separator: string): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of text) {
    const pieces = (rest + piece).split(separator);
    rest = pieces.pop()!;
    yield* pieces;
  }
  yield rest;
}

/** Parses every line that is not empty after removing `data: `. */
export async function readLines(url: string): Promise<Read[]> {
  const read: Read[] = [];
  for await (const line of split(textOf(url, {}), '\n')) {
    if (line !== '') read.push({ envelope: JSON.parse(line.replace(/^data: /, '')) });
  }
  return read;
}

/** Splits at blank lines, and parses what follows `data: `. */
export async function readBlocks(url: string): Promise<Read[]> {
  const read: Read[] = [];
  for await (const block of split(textOf(url, {}), '\n\n')) {
    if (block.trim() !== '') read.push({ envelope: JSON.parse(block.trim().slice('data: '.length)) });
  }
  return read;
}

/** npm `eventsource-parser`. */
export async function readWithParser(url: string): Promise<Read[]> {
  const read: Read[] = [];
  const parser = createParser({
    onEvent: ({ id, data }) => read.push({ id: id!, envelope: JSON.parse(data) }),
    onError: (error) => {
      throw error;
    },
  });
  for await (const piece of textOf(url, { accept: 'text/event-stream' })) parser.feed(piece);
  return read;
}

/** npm `@microsoft/fetch-event-source`, with the parts of a browser that it needs. */
export async function readWithFetchEventSource(url: string): Promise<Read[]> {
  const nothing = () => undefined;
  const document = { hidden: false, addEventListener: nothing, removeEventListener: nothing };
  Object.assign(globalThis, { document, window: { fetch, setTimeout, clearTimeout } });
  const read: Read[] = [];
  await fetchEventSource(`${url}/query`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: QUERY,
    onmessage: ({ id, data }) => {
      // It passes on a comment or a `retry` field as an event without data.
      if (data !== '') read.push({ id, envelope: JSON.parse(data) });
    },
    onerror: (error) => {
      throw error;
    },
  });
  Reflect.deleteProperty(globalThis, 'document');
  Reflect.deleteProperty(globalThis, 'window');
  return read;
}
