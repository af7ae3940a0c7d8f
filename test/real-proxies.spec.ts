import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { examine } from 'nest-agent-query-doctor';
import type { Finding } from 'nest-agent-query-doctor';
import type { Report } from 'nest-agent-query-doctor';
import { targetOf } from '../packages/cli/src/doctor/target.js';
import { RUN_DEFAULTS } from '../src/index.js';
import { command } from './support/command-line.js';
import { eventuallyElsewhere } from './support/conditions.js';
import { codeBlocks, read } from './support/documents.js';
import { TLS_FILE } from './support/faulty-proxy.js';
import { freePort } from './support/free-port.mjs';
import { describeInLongForm } from './support/long-form.js';
import { openDatabase } from './support/postgres.js';
import {
  NGINX_DIRECTORIES,
  pathOf,
  type ProxyProgram,
  type RealProxy,
  startCaddy,
  startHaproxy,
  startNginx,
  withProxy,
} from './support/real-proxies.js';
import { type Service, startService } from './support/service.js';

const RECIPES = 'docs/deployment.md';
const EXTENT = { idle: 2, body: 2_000_000 };

/** The checks that a URL with http, and a doctor without a credential, leave out. */
const UNTESTED = ['credentials', 'http2', 'http2-uploads'];

/** What nginx does to the way unless it is told otherwise: it speaks HTTP/1.0 to the service, with a Host of its own. */
const BARE_NGINX = {
  cuts: expect.stringMatching(/^warning: a cut stream ends as if it were complete, /) as unknown,
  'agent-card': expect.stringMatching(
    /^warning: names http:\/\/127\.0\.0\.1:\d+\/a2a, but callers need an address below /,
  ) as unknown,
};

/** What a proxy does that removes a prefix of the path: the agent card does not know it. */
const WITHOUT_PREFIX = {
  'agent-card': expect.stringMatching(
    /^warning: names (http:\/\/127\.0\.0\.1:\d+)\/a2a, but callers need an address below \1\/api\/$/,
  ) as unknown,
};

/** What the recipes tell to write for nginx, for HAProxy, and for Caddy. */
const GOOD_NGINX = directivesOf('nginx', /location \/ \{\n([^}]+)\}/, /proxy_pass/);
const GOOD_HAPROXY = directivesOf('haproxy', /^defaults\n((?: .+\n)+)/, /^mode/);
const GOOD_CADDY = recipeOf('caddy');

describe('The doctor', () => {
  let service: Service;
  const proxies: RealProxy[] = [];

  beforeAll(async () => {
    // The recipes name the client to the service, which trusts a proxy only where there is access.
    service = await startService({ ACCESS: 'open', TRUST_PROXY: 'loopback' });
  });
  afterEach(() => Promise.all(proxies.splice(0).map((proxy) => proxy.stop())));
  afterAll(() => service.stop());

  /** The checks that are not fine. */
  const found = async (starting: Promise<RealProxy>, path = '') => {
    const proxy = await starting;
    proxies.push(proxy);
    const { findings, proxies: seen } = await examine(
      targetOf(`${proxy.url}${path}`, 'query', undefined),
      EXTENT,
    );
    const others = findings.filter(({ verdict, check }) => verdict !== 'ok' && !UNTESTED.includes(check));
    return { seen: seen.map(({ name }) => name), found: Object.fromEntries(others.map(inWords)) };
  };

  /** The exit code of the command, which trusts the certificate, and what is not fine. */
  const foundWithTls = async (starting: Promise<RealProxy>) => {
    const proxy = await starting;
    proxies.push(proxy);
    const { stdout, code } = await command(
      ['doctor', proxy.url, '--idle', '1', '--body', '2000000', '--json'],
      {
        NODE_EXTRA_CA_CERTS: TLS_FILE,
      },
    );
    const { findings } = JSON.parse(stdout) as Report;
    return [code, findings.filter(({ verdict, check }) => verdict !== 'ok' && check !== 'credentials')];
  };

  withProxy('nginx', 'finds that nginx collects answers and uploads, and limits bodies', async () => {
    expect(await found(startNginx(service.url, 'proxy_ignore_headers X-Accel-Buffering;'))).toEqual({
      seen: ['nginx'],
      found: {
        buffering: expect.stringMatching(
          /^problem: 9 events, one every 250 ms: all arrived at once; .* 2(\.\d)? s$/,
        ),
        idle: 'warning: of a stream that is silent for 2 s nothing comes before its end: the next proxy may cut it',
        uploads: expect.stringMatching(/^warning: a proxy collects a body/),
        bodies: 'problem: a proxy refuses bodies (413); its limit is between 1 MiB and 1.9 MiB',
        ...BARE_NGINX,
      },
    });
  });

  withProxy(
    'nginx',
    'finds nothing in nginx with the settings of the documents, also below a prefix',
    async () => {
      expect(await found(startNginx(service.url, GOOD_NGINX))).toEqual({ seen: ['nginx'], found: {} });
      const location = 'proxy_hide_header Content-Location; add_header Content-Location $prefixed;';
      expect(await found(startNginx(service.url, GOOD_NGINX + location), '/api')).toEqual({
        seen: ['nginx'],
        found: WITHOUT_PREFIX,
      });
    },
  );

  withProxy(
    'nginx',
    'finds compression, a short time-out, lost headers, a lost prefix and a refused DELETE',
    async () => {
      const location = `${GOOD_NGINX.replace('proxy_read_timeout 60s', 'proxy_read_timeout 1500ms')}
      gzip on; gzip_types text/event-stream; gzip_proxied any; gzip_min_length 0;
      proxy_set_header Last-Event-ID "";
      limit_except GET POST { deny all; }`;
      expect(await found(startNginx(service.url, location), '/api')).toEqual({
        seen: ['nginx'],
        found: {
          ...WITHOUT_PREFIX,
          compression: 'warning: the stream is compressed with gzip; events still arrive one by one',
          idle: expect.stringMatching(/^problem: cut after (?:1\.\d|2) s; no keep-alive came before$/),
          'last-event-id': 'problem: does not arrive: a stream that is resumed begins again',
          'content-location': expect.stringMatching(
            /^problem: names the run below \/query, and clients need \/api\/query: a proxy removes \/api /,
          ),
          delete: expect.stringMatching(
            /^problem: does not reach the service, so that runs cannot be cancelled: the answer was 403 with text\/html/,
          ),
        },
      });
    },
  );

  withProxy(
    'haproxy',
    'finds that HAProxy sends events late, unless it has option http-no-delay',
    async () => {
      expect(await found(startHaproxy(service.url, ''))).toEqual({
        seen: [],
        found: {
          buffering: expect.stringMatching(
            /^warning: 9 events, one every 250 ms, arrived one by one, but most are [12]\d\d ms late$/,
          ),
          leaving: 'warning: not noticed within 5 s; --idle 30 shows whether it ever is',
        },
      });
      expect(await found(startHaproxy(service.url, GOOD_HAPROXY))).toEqual({ seen: [], found: {} });
    },
  );

  withProxy('haproxy', 'finds what rules of HAProxy do', async () => {
    const rules = `${GOOD_HAPROXY}
  timeout server 1500ms
  option http-buffer-request
  http-request deny deny_status 413 if { req.hdr(content-length) -m int gt 1500000 }
  http-request del-header Idempotency-Key
  http-request deny unless { method GET POST }
  http-request replace-path /api(/.*) \\1`;
    expect(await found(startHaproxy(service.url, rules), '/api')).toEqual({
      seen: [],
      found: {
        ...WITHOUT_PREFIX,
        idle: expect.stringMatching(/^problem: cut after (?:1\.\d|2) s; no keep-alive came before$/),
        bodies: 'problem: a proxy refuses bodies (413); its limit is between 1 MiB and 1.9 MiB',
        uploads: expect.stringMatching(/^warning: a proxy collects a body/),
        'idempotency-key': 'problem: does not arrive: a repeated query runs the agent again',
        'content-location': expect.stringMatching(/^problem: names the run below \/query, /),
        delete: expect.stringMatching(
          /^problem: does not reach the service, so that runs cannot be cancelled: the answer was 403 with text\/html/,
        ),
      },
    });
  });

  withProxy('haproxy', 'finds nothing in HAProxy that gives the prefix back', async () => {
    const rules = `${GOOD_HAPROXY}
  http-request replace-path /api(/.*) \\1
  http-response replace-header Content-Location ^/(.*) /api/\\1`;
    expect(await found(startHaproxy(service.url, rules), '/api')).toEqual({
      seen: [],
      found: WITHOUT_PREFIX,
    });
  });

  // test/real-proxies-recipes.spec.ts has the whole recipe of each, with TLS and HTTP/2.
  describeInLongForm('before a service, with the settings of the documents,', () => {
    withProxy('caddy', 'finds nothing in Caddy with the recipe of the documents', async () => {
      const site = GOOD_CADDY.replace('127.0.0.1:3000', new URL(service.url).host);
      // A Caddy that is there already has the port for administration.
      const file = (address: string) => `{\n\tadmin off\n}\n${site.replace('agent.example.com', address)}`;
      // What the recipe says of a cut.
      const { cuts } = BARE_NGINX;
      expect(await found(startCaddy(file))).toEqual({ seen: ['caddy'], found: { cuts } });
    });

    withProxy('nginx', 'finds nothing in nginx with HTTP/2', async () => {
      expect(await foundWithTls(startNginx(service.url, GOOD_NGINX, TLS_FILE))).toEqual([0, []]);
    });

    withProxy('haproxy', 'finds nothing in HAProxy with HTTP/2', async () => {
      const rules = `${GOOD_HAPROXY}\n  http-request set-header X-Forwarded-Proto https`;
      expect(await foundWithTls(startHaproxy(service.url, rules, TLS_FILE))).toEqual([0, []]);
    });
  });
});

describe('The Caddyfile of the repository', () => {
  withProxy(
    'caddy',
    'goes on at once with the process that is left when the other one has stopped',
    async () => {
      const behind = { ACCESS: 'open', TRUST_PROXY: 'loopback' };
      const [one, two] = await Promise.all([startService(behind), startService(behind)]);
      const upstreams = { API_1: new URL(one.url).host, API_2: new URL(two.url).host };
      const proxy = await startCaddy((address) => read('Caddyfile').replace(':3002', address), upstreams);
      const tenAnswers = async () => {
        const statuses: number[] = [];
        for (let n = 0; n < 10; n++) statuses.push(await ask(proxy.url));
        // What Caddy answers where it has no process. It answers 502 where it could not send a query to the stopped one.
        expect(statuses).not.toContain(503);
        return statuses.every((status) => status === 200);
      };
      try {
        expect(await tenAnswers()).toBe(true);
        await one.stop();
        await eventuallyElsewhere(tenAnswers);
      } finally {
        await Promise.all([proxy.stop(), one.stop(), two.stop()]);
      }
    },
  );
});

describe('The Debian server', () => {
  const blocks = codeBlocks(RECIPES).slice(
    codeBlocks(RECIPES).findIndex(({ code }) => code.startsWith('# /etc/agent/env')),
  );
  const blockOf = (begin: string) => blocks.find(({ code }) => code.startsWith(begin))!.code;

  withProxy(
    'nginx',
    'has a new version after two restarts, and answers all queries but one at most',
    async () => {
      const database = await openDatabase();
      const ports = [await freePort(), await freePort()];
      const startOn = (port: number) =>
        startService({
          ...{ ACCESS: 'open', TRUST_PROXY: 'loopback', AGENT: 'echo', PORT: String(port) },
          DATABASE_URL: database.url,
        });
      const processes = await Promise.all(ports.map(startOn));
      const upstream = blockOf('# /etc/nginx/conf.d/agent.conf')
        .replace('127.0.0.1:3001', `127.0.0.1:${ports[0]}`)
        .replace('127.0.0.1:3002', `127.0.0.1:${ports[1]}`);
      const location = `${GOOD_NGINX}\n${blockOf('# What could not be sent')}`;
      const proxy = await startNginx('http://agent', location, undefined, upstream);
      const statuses: number[] = [];
      let isOver = false;
      const caller = async () => {
        while (!isOver) {
          statuses.push(await ask(proxy.url));
          // Callers that never pause take the processor from the processes that start.
          await delay(20);
        }
      };
      const callers = [caller(), caller(), caller()];
      try {
        for (const [index, port] of ports.entries()) {
          const count = statuses.length;
          expect(await processes[index]!.stop()).toBe(0);
          // Both callers and the other process go on while it is away.
          await eventuallyElsewhere(() => statuses.length > count + 10);
          processes[index] = await startOn(port);
        }
        const count = statuses.length;
        await eventuallyElsewhere(() => statuses.length > count + 20);
      } finally {
        isOver = true;
        await Promise.all(callers);
        await Promise.all([proxy.stop(), ...processes.map((each) => each.stop())]);
        await database.close();
      }
      // The system resets what connects between the last connection that a process accepts and the end of its listening, which is
      // longer on a busy machine. nginx does not know then whether the query has arrived, and does not send it again.
      const others = statuses.filter((status) => status !== 200);
      expect([[], [502]]).toContainEqual(others);
      // Processes start five times.
    },
    240_000,
  );

  const hasSystemd = existsSync('/usr/bin/systemd-analyze');
  (hasSystemd ? it : it.skip)('has a unit that systemd takes without a warning', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'unit-'));
    // Programs that are on every machine which tests.
    const unit = blockOf('# /etc/systemd/system/agent@.service')
      .replace('/usr/bin/node', process.execPath)
      .replace('/usr/bin/curl', process.execPath);
    await writeFile(join(directory, 'agent@3001.service'), unit);
    const { stderr } = spawnSync('systemd-analyze', ['verify', join(directory, 'agent@3001.service')], {
      encoding: 'utf8',
    });
    await rm(directory, { recursive: true });
    expect(stderr.split('\n').filter((line) => line.includes('agent@'))).toEqual([]);
  });

  it('gives a stop as much time as the service may take', () => {
    const [, drain] = /^DRAIN_MS=(\d+)$/m.exec(blockOf('# /etc/agent/env'))!;
    const [, stop] = /^TimeoutStopSec=(\d+)$/m.exec(blockOf('# /etc/systemd/system/agent@.service'))!;
    const restMs = 10_000;
    expect(Number(stop) * 1_000).toBeGreaterThan(Number(drain) + RUN_DEFAULTS.stopDeadlineMs + restMs);
  });

  it('names four alerts that there are', () => {
    const named = [...read(RECIPES).matchAll(/^- `(AgentQuery\w+)`/gm)].map(([, name]) => name);
    const rules = [...read('docs/alert-rules.yml').matchAll(/alert: (\w+)/g)].map(([, name]) => name);
    expect(named).toHaveLength(4);
    expect(rules).toEqual(expect.arrayContaining(named));
  });
});

/** Sends a query, reads its answer, and returns the status. */
async function ask(url: string): Promise<number> {
  const body = JSON.stringify({ parts: [{ type: 'text', text: 'Hello!' }] });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/query`, { method: 'POST', headers, body });
  await response.text();
  return response.status;
}

/** Those that can check a file without executing it. */
type Checked = 'nginx' | 'haproxy' | 'caddy';

/** Lets a proxy check a whole recipe, with a certificate that is there. Throws what the proxy says against it. */
async function check(program: Checked): Promise<void> {
  const recipe = recipeOf(program).replace(/\/etc\/\S+\.pem/g, TLS_FILE);
  const directory = await mkdtemp(join(tmpdir(), `${program}-`));
  const path = join(directory, 'recipe.conf');
  const wrapped = `pid nginx.pid; error_log stderr; events {} http { access_log off; ${NGINX_DIRECTORIES}\n${recipe} }`;
  await writeFile(path, program === 'nginx' ? wrapped : recipe);
  const checks = {
    nginx: ['-t', '-p', directory, '-c', path, '-e', 'stderr'],
    haproxy: ['-c', '-f', path],
    caddy: ['validate', '--adapter', 'caddyfile', '--config', path],
  };
  try {
    execFileSync(pathOf(program), checks[program], { stdio: 'pipe' });
  } finally {
    await rm(directory, { recursive: true });
  }
}

function recipeOf(program: ProxyProgram): string {
  return codeBlocks(RECIPES).find(({ language }) => language.startsWith(program))!.code;
}

/** The directives of a section of a recipe, without those that the proxies of tests have already. */
function directivesOf(program: ProxyProgram, section: RegExp, without: RegExp): string {
  const [, text] = section.exec(recipeOf(program))!;
  const lines = text!.replace(/#.*/g, '').split('\n');
  return lines.filter((line) => line.trim() !== '' && !without.test(line.trim())).join('\n');
}

describe.each(['nginx', 'haproxy', 'caddy'] as const)('The recipe of %s', (program) => {
  withProxy(program, 'is a configuration without an error', () => check(program));
});

function inWords({ check, verdict, measured }: Finding): [string, string] {
  return [check, `${verdict}: ${measured}`];
}
