import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding, Report } from 'nest-agent-query-doctor';
import { command } from './support/command-line.js';
import { eventuallyElsewhere } from './support/conditions.js';
import { read } from './support/documents.js';
import { TLS_FILE } from './support/faulty-proxy.js';
import { describeInLongForm } from './support/long-form.js';
import { ProxiedCaller } from './support/proxied-caller.js';
import { PACKAGES } from './support/proxy-process.js';
import {
  type RealProxy,
  startH2o,
  startNghttpx,
  startTrafficServer,
  startVarnish,
  withProxy,
} from './support/real-proxies.js';
import { type RecipeProgram, startRecipe } from './support/recipes.js';
import { serve, type SharedService } from './support/service.js';

const KEY = 'a-key-of-ann-0123456789-0123456789';
const WITH_KEY = { authorization: `Bearer ${KEY}` };
const AGENT = `
export default async function* ({ parts }, { signal }) {
  const [part] = parts;
  yield { type: 'message', data: { content: part.type === 'file' ? String(part.file.size) : 'first' } };
  if (part.type === 'text' && part.text === 'wait')
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
}
`;

/** A query with a file of so many bytes. */
function queryWithFile(bytes: number): string {
  const file = {
    type: 'file',
    name: 'large.bin',
    mimeType: 'application/octet-stream',
    base64: Buffer.alloc(bytes).toString('base64'),
  };
  return JSON.stringify({ parts: [file] });
}

const queryWith = (text: string) => JSON.stringify({ parts: [{ type: 'text', text }] });

describe('The documents on proxies', () => {
  let folder: string;
  /** Its keep-alives are short, so that the doctor sees some, and proxies notice that a client has left. */
  let service: SharedService;
  /** It writes no keep-alive while a test lasts. */
  let silent: SharedService;
  const proxies: RealProxy[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'recipes-'));
    await writeFile(join(folder, 'agent.mjs'), AGENT);
    const variables = {
      AGENT: join(folder, 'agent.mjs'),
      API_KEYS: `ann:${createHash('sha256').update(KEY).digest('hex')}`,
      TRUST_PROXY: 'loopback',
      DISCONNECT: 'cancel',
    };
    service = await serve({ ...variables, KEEP_ALIVE_MS: '500' });
    silent = await serve({ ...variables, KEEP_ALIVE_MS: '600000' });
  });
  afterEach(() => Promise.all(proxies.splice(0).map((proxy) => proxy.stop())));
  afterAll(async () => {
    await Promise.all([service.stop(), silent.stop()]);
    await rm(folder, { recursive: true });
  });

  const started = async (starting: Promise<RealProxy>): Promise<RealProxy> => {
    const proxy = await starting;
    proxies.push(proxy);
    return proxy;
  };

  /** What the doctor warns of. What it cannot check over http is none of this. */
  const found = async ({ url }: RealProxy): Promise<Finding[]> => {
    const parameters = ['doctor', url, '--key', KEY, '--idle', '2', '--body', '2000000', '--json'];
    const { stdout } = await command(parameters, { NODE_EXTRA_CA_CERTS: TLS_FILE });
    const { findings } = JSON.parse(stdout) as Report;
    return findings.filter(({ verdict }) => verdict === 'warning' || verdict === 'problem');
  };

  /** Leaves a stream that is silent after its first event, and waits until its run is cancelled. */
  const leave = async (proxy: RealProxy, behind: SharedService) => {
    const response = await new ProxiedCaller(proxy.url, WITH_KEY).begin('/query', queryWith('wait'));
    await once(response, 'data');
    response.destroy();
    const run = response.headers['content-location']!;
    const direct = new ProxiedCaller(behind.url, WITH_KEY);
    await eventuallyElsewhere(async () => {
      const [, text] = await direct.whole(run);
      return (JSON.parse(text) as { status: string }).status === 'cancelled';
    });
  };

  /** The address of the service, as its agent card says it. */
  const cardOf = async ({ url }: RealProxy): Promise<string> => {
    const [, card] = await new ProxiedCaller(url).whole('/.well-known/agent-card.json');
    const { supportedInterfaces } = JSON.parse(card) as { supportedInterfaces: { url: string }[] };
    return supportedInterfaces[0]!.url;
  };

  describe('The recipe of', () => {
    /** Those whose way the doctor examines in the short form too: what it examines of the service is the same for all. */
    const EXAMINED: RecipeProgram[] = ['nginx', 'caddy', 'haproxy'];

    /** What the doctor finds, and whether a client that leaves is noticed although nothing is written. */
    const RECIPES: Record<RecipeProgram, { finds: string[]; noticesAtOnce: boolean }> = {
      nginx: { finds: [], noticesAtOnce: true },
      caddy: { finds: ['cuts'], noticesAtOnce: true },
      haproxy: { finds: [], noticesAtOnce: true },
      apache: { finds: ['uploads'], noticesAtOnce: false },
      lighttpd: { finds: [], noticesAtOnce: false },
      varnish: { finds: [], noticesAtOnce: true },
      squid: { finds: [], noticesAtOnce: true },
    };

    for (const [program, { finds, noticesAtOnce }] of Object.entries(RECIPES) as [
      RecipeProgram,
      (typeof RECIPES)[RecipeProgram],
    ][])
      describe(program, () => {
        let proxy: RealProxy;
        beforeAll(async () => (proxy = await startRecipe(program, service.url)));
        afterAll(() => proxy.stop());

        const describeExamined = EXAMINED.includes(program) ? describe : describeInLongForm;
        describeExamined('as the doctor sees it,', () => {
          withProxy(program, 'lets streams, headers and methods pass', async () => {
            expect(await found(proxy)).toEqual(
              finds.map((check): unknown => expect.objectContaining({ check })),
            );
          });
        });

        withProxy(program, 'lets bodies pass', async () => {
          const answer = await new ProxiedCaller(proxy.url, WITH_KEY).whole(
            '/query',
            queryWithFile(22_000_000),
          );
          expect(answer).toEqual([200, expect.stringContaining('"22000000"')]);
        });

        withProxy(program, 'tells the service the address that its callers use', async () => {
          expect(await cardOf(proxy)).toBe(`${proxy.url}/a2a`);
        });

        withProxy(
          program,
          noticesAtOnce
            ? 'notices that a client leaves although nothing is written'
            : 'notices that a client leaves when a keep-alive is written',
          async () => {
            if (noticesAtOnce) await leave(await started(startRecipe(program, silent.url)), silent);
            else await leave(proxy, service);
          },
        );
      });

    withProxy(
      'varnish',
      'varnish with its stock settings gives nobody the answer to another caller',
      async () => {
        const { url } = await started(startVarnish(service.url));
        const paths = ['/openapi.json', '/query', '/v1/models', '/version', '/metrics'];
        for (const path of paths) {
          const [withKey] = await new ProxiedCaller(url, { 'x-api-key': KEY }).whole(path);
          const [without] = await new ProxiedCaller(url).whole(path);
          expect([path, withKey, without]).toEqual([path, 200, 401]);
        }
      },
    );
  });

  describe('The settings of the table of proxies', () => {
    const TABLE = read('docs/operations.md');
    const FOR_H2O = ['proxy.preserve-host: ON', 'proxy.timeout.io: 60000'];
    const FOR_TRAFFIC_SERVER = 'CONFIG proxy.config.url_remap.pristine_host_hdr INT 1';

    const startWith = {
      h2o: () => startH2o(service.url, FOR_H2O.join('\n'), TLS_FILE),
      nghttpx: () => startNghttpx(service.url, '', TLS_FILE),
      trafficserver: () => startTrafficServer(service.url, FOR_TRAFFIC_SERVER),
    };

    withProxy('h2o', 'let h2o name the address', async () => {
      for (const setting of FOR_H2O) expect(TABLE).toContain(`\`${setting}\``);
      const proxy = await started(startWith.h2o());
      expect(await cardOf(proxy)).toBe(`${proxy.url}/a2a`);
    });

    withProxy('nghttpx', 'need nothing for nghttpx', async () => {
      const proxy = await started(startWith.nghttpx());
      expect(await cardOf(proxy)).toBe(`${proxy.url}/a2a`);
    });

    withProxy(
      'trafficserver',
      'let Traffic Server take DELETE from other machines, and name the address',
      async () => {
        expect(TABLE).toContain(`\`${FOR_TRAFFIC_SERVER.replace('CONFIG ', '')}\``);
        const proxy = await started(startWith.trafficserver());
        expect(await cardOf(proxy)).toBe(`${proxy.url}/a2a`);
        expect(await statusOfDelete(proxy)).toBe(403);
        const stock = await readFile(`${PACKAGES}/etc/trafficserver/ip_allow.yaml`, 'utf8');
        const changed = stock.replaceAll(/^ +- DELETE\n/gm, '');
        const open = await started(startTrafficServer(service.url, FOR_TRAFFIC_SERVER, changed));
        expect(await statusOfDelete(open)).toBe(404);
      },
    );

    describeInLongForm('as the doctor sees it, let streams, headers and methods pass:', () => {
      for (const [program, finds] of Object.entries({
        h2o: ['cuts', 'uploads'],
        nghttpx: [],
        trafficserver: [],
      }) as [keyof typeof startWith, string[]][])
        withProxy(program, program, async () => {
          const findings = await found(await started(startWith[program]()));
          expect(findings.map(({ check }) => check).sort()).toEqual(finds);
        });
    });
  });
});

/** The status of a `DELETE` of a run that is not there, from an address that is not 127.0.0.1. */
async function statusOfDelete({ url }: RealProxy): Promise<number> {
  const request = http.request(`${url}/query/00000000-0000-4000-8000-000000000000`, {
    method: 'DELETE',
    headers: WITH_KEY,
    localAddress: '127.0.0.2',
    agent: false,
  });
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.resume();
  return response.statusCode!;
}
