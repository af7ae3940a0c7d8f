import { readFile } from 'node:fs/promises';

/** What pdf.js asks for. The other kinds of data are needed only to draw. */
interface DataRequest {
  kind: string;
  filename: string;
}

/**
 * The tables that map the codes of Chinese, Japanese and Korean fonts to characters. A PDF names a table instead of
 * containing it. They are in the package `pdfjs-dist`, of which nothing else is used.
 */
export class CharacterMaps {
  /** Why a table that a PDF needs could not be read; the library itself continues without it, and finds no text. */
  failure: Error | undefined;

  /** The class that the library makes an object of, to get data. */
  factory() {
    const read = (request: DataRequest) => this.#read(request);
    return class {
      fetch(request: DataRequest): Promise<Uint8Array> {
        return read(request);
      }
    };
  }

  async #read({ kind, filename }: DataRequest): Promise<Uint8Array> {
    if (kind !== 'cMapUrl' || !/^[\w-]{1,50}\.bcmap$/.test(filename)) throw new Error(`There is no ${kind}.`);
    try {
      const folder = import.meta.resolve('pdfjs-dist/package.json');
      return Uint8Array.from(await readFile(new URL(`cmaps/${filename}`, folder)));
    } catch (error) {
      this.failure = error as Error;
      throw error;
    }
  }
}
