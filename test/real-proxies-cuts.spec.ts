import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { codeBlocks } from './support/documents.js';
import { ProxiedCaller } from './support/proxied-caller.js';
import { type RealProxy, startNginx, withProxy } from './support/real-proxies.js';
import { recipeOf, type RecipeProgram, startRecipe } from './support/recipes.js';

describe('Two processes that are lost while they answer a query', () => {
  const servers: Server[] = [];
  let proxy: RealProxy | undefined;
  /** The connection of the answer that is sent. */
  let answering: Socket;

  beforeEach(async () => {
    for (let n = 0; n < 2; n++) {
      const server = createServer((request, response) => {
        if (request.url === '/answer') {
          response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
          response.write('data: {}\n\n');
          answering = request.socket;
        } else if (request.method === 'POST') request.socket.destroy();
        else response.end('answered');
      });
      servers.push(server.listen(0, '127.0.0.1'));
      await once(server, 'listening');
    }
  });
  afterEach(async () => {
    await proxy?.stop();
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  const hosts = () => servers.map((server) => `127.0.0.1:${(server.address() as AddressInfo).port}`);

  /** The statuses of four queries that are cut, and of the requests that follow them. */
  const afterCuts = async (): Promise<[number[], number[]]> => {
    const caller = new ProxiedCaller(proxy!.url);
    const statuses: [number[], number[]] = [[], []];
    for (let n = 0; n < 4; n++) statuses[0].push((await caller.whole('/query', '{}'))[0]);
    for (let n = 0; n < 4; n++) statuses[1].push((await caller.whole('/query'))[0]);
    return statuses;
  };

  /** nginx with the upstream of the documents, and what the recipe has in its location. */
  const nginx = (change: (upstream: string) => string) => {
    const { code } = codeBlocks('docs/deployment.md').find(({ code }) => code.startsWith('# /etc/nginx/'))!;
    const [one, two] = hosts();
    const upstream = code.replace('127.0.0.1:3001', one!).replace('127.0.0.1:3002', two!);
    const [, location] = /location \/ \{\n([^}]+)\}/.exec(recipeOf('nginx'))!;
    return startNginx('http://agent', location!.replace(/proxy_pass.*/, ''), undefined, change(upstream));
  };

  /** Whether an answer whose process is lost after its first event ends as if it were whole. */
  const looksWhole = async (starting: Promise<RealProxy>): Promise<boolean> => {
    proxy = await starting;
    const answer = await new ProxiedCaller(proxy.url).begin('/answer', '{}');
    await once(answer, 'data');
    answering.destroy();
    // A cut is an error of the stream.
    answer.on('error', () => undefined).resume();
    await new Promise((resolve) => answer.once('close', resolve));
    return answer.complete;
  };

  const CUTS: RecipeProgram[] = ['nginx', 'haproxy', 'apache', 'lighttpd', 'varnish', 'squid'];
  for (const program of CUTS)
    withProxy(program, `are seen as a cut with the recipe of ${program}`, async () => {
      expect(await looksWhole(startRecipe(program, `http://${hosts()[0]}`))).toBe(false);
    });

  withProxy('nginx', 'are seen as an end with nginx without proxy_http_version', async () => {
    const older = (recipe: string) => recipe.replace(/proxy_http_version.*/, '');
    expect(await looksWhole(startRecipe('nginx', `http://${hosts()[0]}`, older))).toBe(true);
  });

  withProxy('caddy', 'are seen as an end with Caddy 2.6', async () => {
    expect(await looksWhole(startRecipe('caddy', `http://${hosts()[0]}`))).toBe(true);
  });

  withProxy('nginx', 'leave nginx without a process, unless each has max_fails=0', async () => {
    proxy = await nginx((upstream) => upstream.replaceAll(' max_fails=0', ''));
    expect(await afterCuts()).toEqual([
      [502, 502, 502, 502],
      [502, 502, 502, 502],
    ]);
    await proxy.stop();
    proxy = await nginx((upstream) => upstream);
    expect(await afterCuts()).toEqual([
      [502, 502, 502, 502],
      [200, 200, 200, 200],
    ]);
  });

  withProxy('haproxy', 'do not count as failed with the recipe of HAProxy', async () => {
    const [one, two] = hosts();
    proxy = await startRecipe('haproxy', `http://${one}`, (recipe) => recipe.replace('10.0.0.12:3000', two!));
    expect(await afterCuts()).toEqual([
      [502, 502, 502, 502],
      [200, 200, 200, 200],
    ]);
  });
});
