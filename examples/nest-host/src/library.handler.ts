import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { AgentHandler, log, message, type Query, type QueryContext } from 'nest-agent-query';
import { Library } from './library.js';

/** Milliseconds between two words, unless the caller sends `kwargs.pauseMs`. */
const PAUSE_MS = 100;

/** Answers questions about books, word by word. */
@Injectable()
export class LibraryHandler extends AgentHandler {
  constructor(private readonly library: Library) {
    super();
  }

  async *handle({ parts, kwargs }: Query, { history, signal }: QueryContext) {
    const pauseMs = typeof kwargs['pauseMs'] === 'number' ? kwargs['pauseMs'] : PAUSE_MS;
    const earlier = history.length;
    if (earlier > 0) yield log(`Question ${earlier + 1} of this conversation`);

    for (const part of parts) {
      if (part.type === 'file') {
        yield log(`${part.name} has ${part.file.size} bytes`);
        continue;
      }
      for (const word of this.#answer(part.text).split(' ')) {
        // Rejects as soon as the run must stop.
        await pause(pauseMs, undefined, { signal });
        yield message(`${word} `);
      }
    }
  }

  #answer(question: string): string {
    const books = this.library.find(question.split(/\W+/));
    if (books.length === 0) return 'I have no book about that.';
    return books.map(({ title, about }) => `"${title}" is about ${about}.`).join(' ');
  }
}
