import { readFile } from 'node:fs/promises';

/** What pdf.js asks for. The other kinds of data are needed only to draw. */
interface DataRequest {
  kind: string;
  filename: string;
}

/**
 * The tables that map the codes of Chinese, Japanese and Korean fonts to characters. A PDF names a table instead of
 * containing it. The folder `cmaps` is copied from the package `pdfjs-dist` 5.6: 2 MB of its 75.
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
      return Uint8Array.from(await readFile(new URL(`../../cmaps/${filename}`, import.meta.url)));
    } catch (error) {
      this.failure = error as Error;
      throw error;
    }
  }
}
