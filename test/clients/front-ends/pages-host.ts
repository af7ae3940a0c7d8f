import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import type { INestApplication } from '@nestjs/common';

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/**
 * Serves pages from the origin of the service, at `/pages/`.
 *
 * @param built the folder that Vite has written, below this one
 */
export function servePages(built: string): (app: INestApplication) => void {
  const folder = join(import.meta.dirname, built);
  return (app) =>
    app.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
      const [, file] = /^\/pages\/([\w./-]+)/.exec(request.url!) ?? [];
      if (file === undefined) return next();
      readFile(join(folder, file)).then(
        (bytes) => response.writeHead(200, { 'content-type': TYPES[extname(file)] }).end(bytes),
        () => response.writeHead(404).end(),
      );
    });
}
