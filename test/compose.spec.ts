import { parse } from 'yaml';
import { readEnvironment } from '../src/config/index.js';
import { read } from './support/documents.js';

interface Service {
  build?: string;
  image?: string;
  profiles?: string[];
  environment?: Record<string, string>;
  depends_on?: string[] | Record<string, unknown>;
  ports?: string[];
  stop_grace_period?: string;
}

const KEYS = `me:${'0'.repeat(64)}`;

/** The file as Compose reads it where `.env` sets the keys. */
const composed = read('docker-compose.yml').replace(/\$\{API_KEYS:\?[^}]+\}/, KEYS);

const { services } = parse(composed, { merge: true }) as {
  services: Record<string, Service>;
};
const all = Object.entries(services);
const built = all.filter(([, { build }]) => build !== undefined);
const named = (services: [string, Service][]) => services.map(([name]) => name);
const ofProfile = (profile: string) => all.filter(([, { profiles }]) => profiles?.includes(profile));

describe('docker-compose.yml', () => {
  it.each(built)('gives %s an environment that the service understands', (_name, { environment = {} }) => {
    expect(readEnvironment(environment)).toMatchObject(environment);
  });

  it.each(built)('lets nobody use %s without a key', (_name, { environment }) => {
    expect(environment).toMatchObject({ API_KEYS: KEYS });
    expect(environment).not.toHaveProperty('ACCESS');
  });

  it('says how to make a key where none is set', () => {
    expect(read('docker-compose.yml')).toMatch(/^x-keys: &keys \$\{API_KEYS:\?Make an API key .+\}$/m);
  });

  it.each(built)(
    'gives %s more time to stop than the service takes',
    (_name, { environment, stop_grace_period }) => {
      const { DRAIN_MS, STOP_DEADLINE_MS } = readEnvironment(environment);
      expect(Number.parseInt(stop_grace_period!) * 1000).toBeGreaterThan(
        DRAIN_MS + STOP_DEADLINE_MS + 10_000,
      );
    },
  );

  it.each(all)('lets %s depend on services that start with it', (_name, { profiles, depends_on = [] }) => {
    const needed = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on);
    for (const name of needed) {
      for (const profile of profiles!) expect(services[name]!.profiles).toContain(profile);
    }
  });

  it('has two processes that admit and two that execute, on one Postgres, behind a proxy', () => {
    const cluster = ofProfile('cluster');
    const withRole = (role: string) =>
      named(cluster.filter(([, { environment }]) => environment?.['ROLE'] === role));
    expect(withRole('api')).toEqual(['api-1', 'api-2']);
    expect(withRole('worker')).toEqual(['worker-1', 'worker-2']);
    const databases = cluster.flatMap(([, { build, environment }]) =>
      build ? [environment!['DATABASE_URL']] : [],
    );
    expect(new Set(databases).size).toBe(1);
    expect(named(cluster)).toEqual(expect.arrayContaining(['proxy', 'postgres']));
  });

  it('publishes ports on the loopback interface only', () => {
    const ports = all.flatMap(([, { ports = [] }]) => ports);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    expect(new Set(ports.map((port) => port.split(':')[1])).size).toBe(ports.length);
  });
});

describe('The Caddyfile', () => {
  const file = read('Caddyfile');

  it('passes requests on to the processes that admit queries, and listens where the port is published', () => {
    const upstreams = [...file.matchAll(/:([\w-]+):3000\}/g)].map(([, name]) => name);
    expect(upstreams).toEqual(['api-1', 'api-2']);
    const [, listened] = /^:(\d+) \{$/m.exec(file)!;
    expect(services['proxy']!.ports).toEqual([`127.0.0.1:${listened}:${listened}`]);
  });

  it('holds no event back, and asks for the readiness of the service', () => {
    expect(file).toMatch(/^\t+flush_interval -1$/m);
    expect(file).toMatch(/^\t+health_uri \/health\/ready$/m);
  });
});
