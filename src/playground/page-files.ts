import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const TYPES = new Map([
  ['css', 'text/css; charset=utf-8'],
  ['js', 'text/javascript; charset=utf-8'],
  ['svg', 'image/svg+xml'],
]);

const compress = promisify(gzip);

/** A file of the page in memory. */
export interface PageFile {
  type: string;
  etag: string;
  content: Buffer;
  /** The content, compressed. */
  gzip: Buffer;
}

/** The built page in memory. */
export class PageFiles {
  private constructor(
    /** `index.html`, with places for what depends on its address. */
    readonly html: string,
    private readonly assets: ReadonlyMap<string, PageFile>,
  ) {}

  /**
   * Reads the page once.
   *
   * @throws Error the page was not built
   */
  static async read(folder: string): Promise<PageFiles> {
    try {
      const html = await readFile(join(folder, 'index.html'), 'utf8');
      const names = await readdir(join(folder, 'assets'));
      const files = names.map(async (name) => [name, await readAsset(join(folder, 'assets', name))] as const);
      return new PageFiles(html, new Map(await Promise.all(files)));
    } catch (error) {
      throw new Error(
        'PlaygroundModule: the page is missing. Run npm run build, or install the package again.',
        {
          cause: error,
        },
      );
    }
  }

  asset(name: string): PageFile | undefined {
    return this.assets.get(name);
  }
}

async function readAsset(path: string): Promise<PageFile> {
  const content = await readFile(path);
  const type = TYPES.get(path.split('.').at(-1)!) ?? 'application/octet-stream';
  return { type, etag: etagOf(content), content, gzip: await compress(content, { level: 9 }) };
}

/** A weak one: it holds for every encoding. */
export function etagOf(content: string | Buffer): string {
  return `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
}
