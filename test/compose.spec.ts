import { parse, parseAllDocuments } from 'yaml';
import { readEnvironment } from '../src/config/index.js';
import { codeBlocks, read } from './support/documents.js';

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
      const taken = stopTime(readEnvironment(environment ?? {}));
      expect(Number.parseInt(stop_grace_period!) * 1000).toBeGreaterThan(taken);
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

/** A recipe in YAML, by the name in its first line. */
function recipe(name: string): string {
  return codeBlocks('docs/deployment.md').find(({ code }) => code.startsWith(`# ${name}\n`))!.code;
}

describe('The recipe of Compose', () => {
  const text = recipe('compose.yaml').replace(/\$\{API_KEYS:\?[^}]+\}/, KEYS);
  const file = parse(text) as { services: Record<string, Service & { volumes: string[] }>; volumes: object };
  const { environment = {}, stop_grace_period } = file.services['agent-query']!;

  it('gives the service an environment that it understands, and enough time to stop', () => {
    const read = readEnvironment(environment);
    expect(read).toMatchObject({ AGENT: './my-agent.mjs', API_KEYS: KEYS });
    expect(Number.parseInt(stop_grace_period!) * 1000).toBeGreaterThan(stopTime(read));
  });

  it('declares its volumes', () => {
    const mounted = Object.values(file.services).flatMap(({ volumes }) =>
      volumes.map((each) => each.split(':')[0]!),
    );
    expect(mounted.filter((each) => !each.startsWith('.'))).toEqual(Object.keys(file.volumes));
  });
});

describe('The recipe of Kubernetes', () => {
  const documents = parseAllDocuments(recipe('kubernetes.yaml'));
  const objects = documents.map((each) => each.toJS() as KubernetesObject);
  const ofKind = (kind: string) => objects.find((each) => each.kind === kind)!;
  const { replicas, template } = ofKind('Deployment').spec as unknown as DeploymentSpec;
  const pod = template.spec;
  const [container] = pod.containers;
  const variables = Object.fromEntries(container!.env.map(({ name, value }) => [name, value]));
  // The secret has these two.
  const secrets = {
    API_KEYS: KEYS,
    DATABASE_URL: 'postgres://agent:secret@db.example.com/agent?sslmode=verify-full',
  };

  it('is YAML without an error or a warning', () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  });

  it('gives two processes an environment that the service understands', () => {
    expect(replicas).toBe(2);
    const read = readEnvironment({ ...variables, ...secrets });
    expect(read).toMatchObject(secrets);
    expect(read.DRAIN_MS).toBe(Number(variables['DRAIN_MS']));
  });

  it('gives a pod more time to end than preStop and the service take', () => {
    const [, seconds] = container!.lifecycle.preStop.exec.command;
    const needed = Number(seconds) * 1000 + stopTime(readEnvironment({ ...variables, ...secrets }));
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(needed);
  });

  it('asks the paths and the port that the service has', () => {
    const { startupProbe, livenessProbe, readinessProbe, ports } = container!;
    const port = ports[0]!.containerPort;
    expect(port).toBe(readEnvironment({}).PORT);
    expect(startupProbe.httpGet).toEqual({ path: '/health/live', port });
    expect(livenessProbe.httpGet).toEqual({ path: '/health/live', port });
    expect(readinessProbe.httpGet).toEqual({ path: '/health/ready', port });
    expect(ofKind('Service').spec).toMatchObject({ ports: [{ targetPort: port }] });
  });

  it('names the pods of the deployment in every selector', () => {
    const labels = template.metadata.labels;
    expect(ofKind('Deployment').spec).toMatchObject({ selector: { matchLabels: labels } });
    expect(ofKind('PodDisruptionBudget').spec).toMatchObject({ selector: { matchLabels: labels } });
    expect(ofKind('Service').spec).toMatchObject({ selector: labels });
    expect(JSON.stringify(ofKind('Ingress').spec)).toContain('"name":"agent-query"');
  });
});

/** How long the service takes to stop, at most. */
function stopTime({ DRAIN_MS, STOP_DEADLINE_MS }: { DRAIN_MS: number; STOP_DEADLINE_MS: number }): number {
  return DRAIN_MS + STOP_DEADLINE_MS + 10_000;
}

interface KubernetesObject {
  kind: string;
  spec: object;
}

interface Probe {
  httpGet: { path: string; port: number };
}

interface DeploymentSpec {
  replicas: number;
  template: {
    metadata: { labels: Record<string, string> };
    spec: {
      terminationGracePeriodSeconds: number;
      containers: {
        env: { name: string; value: string }[];
        ports: { containerPort: number }[];
        lifecycle: { preStop: { exec: { command: string[] } } };
        startupProbe: Probe;
        livenessProbe: Probe;
        readinessProbe: Probe;
      }[];
    };
  };
}
