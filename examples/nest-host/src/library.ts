import { Injectable, Module } from '@nestjs/common';

export interface Book {
  title: string;
  about: string;
}

/** What the handler depends on. In your application: a database, a search index, the client of a model. */
@Injectable()
export class Library {
  readonly #books: Book[] = [
    { title: 'The Nest', about: 'birds that raise their young' },
    { title: 'Streams', about: 'rivers, and answers that arrive word by word' },
    { title: 'The Queue', about: 'patience' },
  ];

  /** Books whose title or subject contains one of these words. */
  find(words: string[]): Book[] {
    const wanted = words.map((word) => word.toLowerCase()).filter((word) => word.length > 3);
    return this.#books.filter(({ title, about }) =>
      wanted.some((word) => `${title} ${about}`.toLowerCase().includes(word)),
    );
  }
}

@Module({ providers: [Library], exports: [Library] })
export class LibraryModule {}
