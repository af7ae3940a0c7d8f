import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AccessModuleOptions, type ApiKey, createApiKey } from '../../../src/access/index.js';
import { type HandlerFunction, message } from '../../../src/index.js';
import { promise } from '../../promises.js';
import { bearer, guarded, Issuer } from '../../support/access.js';
import { ask } from '../../support/client.js';
import { eventuallyElsewhere } from '../../support/conditions.js';
import { describeOnOneAdapter, type Host, startHost } from '../../support/host.js';
import { OperatorLog } from '../../support/operator-log.js';

const sayHi: HandlerFunction = async function* () {
  yield message('Hi');
};

const lineOf = ({ name, sha256, expires }: ApiKey) =>
  `${name}:${sha256}${expires === undefined ? '' : `:${expires}`}\n`;

describeOnOneAdapter('Keys that change, on %s', (adapter) => {
  const [ann, bob, eve] = [createApiKey('ann'), createApiKey('bob'), createApiKey('eve')];
  let directory: string;
  let host: Host;
  let log: OperatorLog;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'access-keys-'));
  });

  afterEach(async () => {
    await host.idle();
    await host.close();
    await rm(directory, { recursive: true });
  });

  async function start(access: AccessModuleOptions): Promise<void> {
    host = await startHost(adapter, guarded(sayHi, access), (app) => void (log = OperatorLog.of(app)));
  }

  async function statusOf(credential: string): Promise<number> {
    const reply = await ask(host.url, 'Hi', { headers: bearer(credential) });
    await reply.whole();
    return reply.status;
  }

  it(promise('access.rotation', 'a file that is renamed over the one before'), async () => {
    const path = join(directory, 'keys');
    await writeFile(path, `# Keys of the service\n\n${lineOf(ann.configured)}`);
    await start({ keysFile: path, keys: [eve.configured] });
    expect([await statusOf(ann.key), await statusOf(bob.key)]).toEqual([200, 401]);

    await writeFile(`${path}.new`, lineOf(bob.configured));
    await rename(`${path}.new`, path);
    await eventuallyElsewhere(async () => (await statusOf(bob.key)) === 200);
    expect([await statusOf(ann.key), await statusOf(eve.key)]).toEqual([401, 200]);
    expect(log.lines).toContain('log The file of API keys has changed, and was read: 1 keys. Access');
  });

  it(promise('access.overlap'), async () => {
    const path = join(directory, 'keys');
    const next = createApiKey('ann');
    await writeFile(path, lineOf(ann.configured));
    await start({ keysFile: path });
    const refused: number[] = [];
    let credential = ann.key;
    let isOver = false;
    const caller = (async () => {
      while (!isOver) {
        const status = await statusOf(credential);
        if (status !== 200) refused.push(status);
      }
    })();
    const first = await ask(host.url, 'Hi', { headers: bearer(ann.key), kwargs: { session_id: 's' } });
    await first.whole();
    await writeFile(path, lineOf(ann.configured) + lineOf(next.configured));
    await eventuallyElsewhere(async () => (await statusOf(next.key)) === 200);
    expect(await statusOf(ann.key)).toBe(200);
    credential = next.key;
    await statusOf(credential);
    await writeFile(path, lineOf(next.configured));
    await eventuallyElsewhere(async () => (await statusOf(ann.key)) === 401);
    isOver = true;
    await caller;
    expect(refused).toEqual([]);
    // The new key is the same owner.
    const session = await fetch(`${host.url}/query/sessions/s`, { headers: bearer(next.key) });
    expect(session.status).toBe(200);
  });

  it(promise('access.expiry'), async () => {
    const path = join(directory, 'keys');
    const end = new Date(Date.now() + 2_000);
    await writeFile(path, lineOf({ ...ann.configured, expires: end.toISOString() }));
    await start({ keysFile: path, keys: [{ ...eve.configured, expires: '2020-01-31' }, bob.configured] });
    expect([await statusOf(ann.key), await statusOf(eve.key)]).toEqual([200, 401]);
    await eventuallyElsewhere(async () => (await statusOf(ann.key)) === 401);
    expect(Date.now()).toBeGreaterThanOrEqual(end.getTime());
    expect([await statusOf(ann.key), await statusOf(eve.key)]).toEqual([401, 401]);
    const replies = await Promise.all(
      [ann.key, 'nobody'].map((key) => ask(host.url, 'Hi', { headers: bearer(key) })),
    );
    const [expired, unknown] = await Promise.all(
      replies.map(async (reply) => [
        reply.headers['www-authenticate'],
        { ...(await reply.json()), instance: '' },
      ]),
    );
    expect(expired).toEqual(unknown);
    expect(await statusOf(bob.key)).toBe(200);
    const said = log.lines.filter((line) => line.startsWith('warn The API key '));
    expect(said).toEqual([
      `warn The API key ${eve.configured.sha256.slice(0, 8)}… of "eve" has expired (2020-01-31). Access`,
      `warn The API key ${ann.configured.sha256.slice(0, 8)}… of "ann" has expired (${end.toISOString()}). Access`,
    ]);
    expect(log.lines).toContain(
      'warn A credential from 127.0.0.1 was refused. The API key has expired. Access',
    );
  });

  it(promise('access.rotation', 'a file that is written in place'), async () => {
    const path = join(directory, 'keys');
    await writeFile(path, lineOf(ann.configured));
    await start({ keysFile: path });
    await writeFile(path, lineOf(ann.configured) + lineOf(bob.configured));
    await eventuallyElsewhere(async () => (await statusOf(bob.key)) === 200);
    await writeFile(path, '');
    await eventuallyElsewhere(async () => (await statusOf(bob.key)) === 401);
  });

  it(promise('access.rotation', 'a symbolic link, as Kubernetes sets it'), async () => {
    // keys → ..data/keys, ..data → ..1/
    for (const [folder, key] of [
      ['..1', ann],
      ['..2', bob],
    ] as const) {
      await mkdir(join(directory, folder));
      await writeFile(join(directory, folder, 'keys'), lineOf(key.configured));
    }
    await symlink('..1', join(directory, '..data'));
    await symlink('..data/keys', join(directory, 'keys'));
    await start({ keysFile: join(directory, 'keys') });
    expect(await statusOf(ann.key)).toBe(200);

    await symlink('..2', join(directory, '..data_tmp'));
    await rename(join(directory, '..data_tmp'), join(directory, '..data'));
    await rm(join(directory, '..1'), { recursive: true });
    await eventuallyElsewhere(async () => (await statusOf(bob.key)) === 200);
    expect(await statusOf(ann.key)).toBe(401);
  });

  it(promise('access.faulty-file'), async () => {
    const path = join(directory, 'keys');
    await writeFile(path, lineOf(ann.configured));
    await start({ keysFile: path, keys: [eve.configured] });
    const troubles = async (count: number) => eventuallyElsewhere(() => log.troubles.length === count);
    await writeFile(path, `${lineOf(bob.configured)}bob:${ann.key}\n${ann.key}\nbob:x:y`);
    await troubles(1);
    expect(log.troubles[0]).toContain(
      'The file of API keys has changed, and is faulty: line 2 must be name:sha256, where sha256 has 64 hexadecimal digits. ' +
        'line 3 must be name:sha256, where the name has 1 to 64 letters, digits, "_", "-" or ".", and does not begin with ' +
        '"naq_". line 4 must be name:sha256, where sha256 has 64 hexadecimal digits. The keys that were valid before stay ' +
        'valid.',
    );
    expect([await statusOf(ann.key), await statusOf(eve.key)]).toEqual([200, 200]);

    // A key of the file is one that is configured otherwise.
    await writeFile(path, lineOf({ ...eve.configured, name: 'bob' }));
    await troubles(2);
    await rm(path);
    await troubles(3);
    expect(log.troubles[2]).toMatch(
      /cannot be read \(ENOENT\)\. The keys that were valid before stay valid\. /,
    );
    expect(await statusOf(ann.key)).toBe(200);

    await writeFile(path, lineOf(bob.configured));
    await eventuallyElsewhere(async () => (await statusOf(bob.key)) === 200);
    expect(log.troubles.filter((line) => line.startsWith('error'))).toHaveLength(3);
    expect(log.lines.join('\n')).not.toContain(ann.key);
  });

  it(promise('access.rotation', 'the keys of an issuer'), async () => {
    const issuer = await Issuer.start('https://idp.example');
    await start({ jwt: { jwksUrl: issuer.jwksUrl } });
    const first = await issuer.token();
    expect(await statusOf(first)).toBe(200);
    await issuer.rotate();
    const second = await issuer.token();
    expect([await statusOf(second), await statusOf(first)]).toEqual([200, 401]);

    // Unknown key ids do not make the service flood the issuer.
    const { fetches } = issuer;
    const unknown = await Promise.all(
      Array.from({ length: 50 }, (_, index) => issuer.token({}, { kid: `unknown-${index}` })),
    );
    expect(new Set(await Promise.all(unknown.map(statusOf)))).toEqual(new Set([401]));
    expect([await statusOf(second), issuer.fetches]).toEqual([200, fetches]);
    await issuer.close();
  });

  it.each([[503], ['cut'], [404]] as const)(promise('access.unavailable', '%s'), async (trouble) => {
    const issuer = await Issuer.start('https://idp.example');
    issuer.trouble = trouble;
    await start({ keys: [ann.configured], jwt: { jwksUrl: issuer.jwksUrl } });
    const token = await issuer.token();
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => ask(host.url, 'Hi', { headers: bearer(token) })),
    );
    for (const reply of replies) {
      expect(await reply.json()).toMatchObject({ status: 503, code: 'unavailable' });
      expect([reply.headers['retry-after'], reply.headers['www-authenticate']]).toEqual(['2', undefined]);
    }
    expect(await statusOf(ann.key)).toBe(200);
    // `fetch` itself may try a lost connection again.
    expect(issuer.fetches).toBeLessThanOrEqual(2);
    const causes = log.troubles.filter((line) => line.endsWith(' Access'));
    expect(causes).toEqual([
      expect.stringMatching(/^error The keys of 127\.0\.0\.1:\d+ cannot be fetched: ".+" /),
    ]);
    expect(log.lines.join('\n')).not.toContain(token);
    issuer.trouble = undefined;
    await eventuallyElsewhere(async () => (await statusOf(token)) === 200);
    await issuer.close();
  });
});
