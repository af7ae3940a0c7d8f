import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from './documents.js';

export const FRONT_END = join(ROOT, 'examples/front-end');

/** What the service of a front end has as `jwt`. */
export const TOKENS = { secret: 's'.repeat(32), issuer: 'front-end', audience: 'agent' };

/** The server of `examples/front-end`. */
export interface FrontEnd {
  url: string;
  stop(): Promise<void>;
}

/**
 * Starts the server, with the users `ann` and `bob`, whose passwords are `ann-1` and `bob-1`.
 *
 * @param service the address of the service
 * @param page the folder of the page that Vite has built; default: none
 */
export async function startFrontEnd(service: string, page = ''): Promise<FrontEnd> {
  const child = spawn(process.execPath, [join(FRONT_END, 'server/main.mjs')], {
    env: { PORT: '0', SERVICE_URL: service, JWT_SECRET: TOKENS.secret, PAGE: page },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const stop = async () => {
    child.kill();
    await exited;
  };
  return { url: line.replace(/^Open (.*)\/$/, '$1'), stop };
}
