import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';

const ROOT = resolve(import.meta.dirname, '..');

interface Manifest {
  name: string;
  private?: boolean;
  exports?: Record<string, unknown>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

/** A package of this repository: the core, whose folder is empty, or one below `packages`. */
interface Package {
  folder: string;
  manifest: Manifest;
}

const packages: Package[] = ['', ...folders('packages').map((name) => `packages/${name}`)].map((folder) => ({
  folder,
  manifest: JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Manifest,
}));

/** The source files of all packages, relative to the root of the repository, without specs. */
const files = packages.flatMap(({ folder }) =>
  readdirSync(join(ROOT, folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:tsx?|cts|js)$/.test(file) && !file.endsWith('.spec.ts'))
    .map((file) => join(folder, 'src', file)),
);

const known = new Set(files);
const imports = new Map(files.map((file) => [file, importsOf(file)]));
const filesImported = new Map(files.map((file) => [file, resolvedImports(file)]));

function folders(path: string): string[] {
  return readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^(?:node_modules|\..*)$/.test(entry.name))
    .map(({ name }) => name);
}

/** What a file imports, types included. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
}

/** The modules of its own package that a file imports: a style sheet is none. */
function importedFiles(file: string): string[] {
  return filesImported.get(file)!;
}

function resolvedImports(file: string): string[] {
  return imports
    .get(file)!
    .filter((name) => name.startsWith('.') && !name.endsWith('.css'))
    .map((name) =>
      relative(ROOT, resolve(ROOT, dirname(file), name.replace(/\.js$/, '.ts').replace(/\.cjs$/, '.cts'))),
    )
    .map((name) =>
      [name, name.replace(/\.ts$/, '.tsx'), name.replace(/\.ts$/, '.js')].find((each) => known.has(each))!,
    );
}

/** The packages and entries that a file imports by their names, without those of Node. */
function importedNames(file: string): string[] {
  return imports.get(file)!.filter((name) => !name.startsWith('.') && !name.startsWith('node:'));
}

function packageOfName(name: string): string {
  return name.split('/', name.startsWith('@') ? 2 : 1).join('/');
}

function packageOf(file: string): Package {
  const folder = file.startsWith('packages/') ? file.split('/').slice(0, 2).join('/') : '';
  return packages.find((each) => each.folder === folder)!;
}

/** The folder under `src` of the core that a file belongs to. Each agent is a spoke of its own; the service, the command line and the configuration belong to the root. */
function spokeOf(file: string): string {
  const [, first, second, third] = file.split('/');
  if (second === undefined || /^(?:cli|config|service)$/.test(first!)) return 'root';
  return first === 'agents' && third !== undefined ? `agents/${second}` : first!;
}

const core = files.filter((file) => file.startsWith('src/'));

/**
 * The layers of the hub and of the stores. A file imports files of its own layer and of the layers after it, never of the layers
 * before it. `root` is the folder itself.
 */
const LAYERS: Record<string, string[]> = {
  query: [
    'root',
    'http',
    'sse',
    'runs',
    'webhooks',
    'memory',
    'sharing',
    'event-log',
    'body',
    'files',
    'platform',
    'options',
    'ports',
    'contract',
  ],
  stores: ['root', 'process', 'steps', 'rows', 'files', 'drivers', 'schema'],
};

/** The layer of a file, for example `http` of `src/query/http/headers.ts`. */
function layerOf(file: string): string {
  const [, , third, fourth] = file.split('/');
  return fourth === undefined ? 'root' : third!;
}

/** What spokes of the core import besides the hub. Who serves the page says that it needs no credential. */
const BUILT_ON: Record<string, string[]> = {
  playground: ['src/access/index.ts'],
  'agents/echo': ['src/parts/part-readers.ts'],
};

/** The packages of this repository that each package imports, by their names. */
const PACKAGES_OF: Record<string, string[]> = {
  'create-nest-agent-query': [],
  'nest-agent-query': ['nest-agent-query-cli', 'nest-agent-query-client', 'nest-agent-query-modules'],
  'nest-agent-query-a2a': ['nest-agent-query', 'nest-agent-query-adapters', 'nest-agent-query-client'],
  'nest-agent-query-acp': ['nest-agent-query', 'nest-agent-query-adapters'],
  'nest-agent-query-adapters': ['nest-agent-query'],
  'nest-agent-query-ai-sdk': [
    'nest-agent-query',
    'nest-agent-query-adapters',
    'nest-agent-query-client',
    'nest-agent-query-files',
  ],
  'nest-agent-query-bullmq': ['nest-agent-query'],
  'nest-agent-query-claude-agent': ['nest-agent-query', 'nest-agent-query-adapters'],
  'nest-agent-query-cli': ['nest-agent-query-client', 'nest-agent-query-doctor'],
  'nest-agent-query-client': [],
  'nest-agent-query-conformance': [],
  'nest-agent-query-doctor': ['nest-agent-query-client'],
  'nest-agent-query-files': ['nest-agent-query', 'nest-agent-query-more-files'],
  'nest-agent-query-langgraph': ['nest-agent-query', 'nest-agent-query-adapters'],
  'nest-agent-query-mastra': ['nest-agent-query', 'nest-agent-query-adapters'],
  'nest-agent-query-openai-agents': ['nest-agent-query', 'nest-agent-query-adapters'],
  'nest-agent-query-mcp': ['nest-agent-query'],
  'nest-agent-query-modules': [],
  'nest-agent-query-more-files': [],
  'nest-agent-query-openapi': ['nest-agent-query'],
  'nest-agent-query-store-contract': ['nest-agent-query'],
  'nest-agent-query-protocols': ['nest-agent-query'],
  'nest-agent-query-playground': ['nest-agent-query-client'],
};

describe('The packages', () => {
  it.each(packages.map((each) => [each.manifest.name, each] as const))(
    'let %s import the others by their names and public entries only',
    (name, { folder }) => {
      const own = files.filter((file) => packageOf(file).folder === folder);
      const outside = own.flatMap(importedFiles).filter((file) => packageOf(file).folder !== folder);
      expect(outside).toEqual([]);
      const entries = own.flatMap(importedNames).filter((entry) => packageOfName(entry) in PACKAGES_OF);
      for (const entry of new Set(entries)) {
        const { manifest } = packages.find((each) => each.manifest.name === packageOfName(entry))!;
        expect([name, PACKAGES_OF[name]]).toEqual([name, expect.arrayContaining([manifest.name])]);
        expect(Object.keys(manifest.exports!)).toContain(entry.replace(manifest.name, '.'));
      }
    },
  );

  it('name each package that they import in their manifests', () => {
    const unnamed = files.flatMap((file) => {
      const { manifest } = packageOf(file);
      // The private packages, and the HTTP adapter of the service, are built into the package.
      const isBuiltIn = manifest.private || file === 'src/service/start.ts';
      const development = isBuiltIn ? manifest.devDependencies : {};
      const named = { ...manifest.dependencies, ...manifest.peerDependencies, ...development };
      return importedNames(file)
        .map(packageOfName)
        .filter((name) => !(name in named) && /^[@\w./-]+$/.test(name))
        .map((name) => `${file}: ${name}`);
    });
    expect(unnamed).toEqual([]);
  });

  it('ask a host for at most nine packages, and only for those whose objects it shares', () => {
    expect(Object.keys(packages[0]!.manifest.peerDependencies!).sort()).toEqual([
      '@nestjs/common',
      '@nestjs/core',
      '@nestjs/swagger',
      '@nestjs/terminus',
      '@opentelemetry/api',
      'prom-client',
      'reflect-metadata',
      'rxjs',
    ]);
  });

  it('have one version', () => {
    const versions = packages.map(({ manifest }) => (manifest as { version?: string }).version);
    expect(new Set(versions).size).toBe(1);
  });
});

describe('The architecture', () => {
  it.each(Object.entries(LAYERS))('lets the layers of %s import in one direction only', (spoke, layers) => {
    const members = core.filter((file) => file.startsWith(`src/${spoke}/`));
    expect([...new Set(members.map(layerOf))].sort()).toEqual([...layers].sort());
    for (const file of members) {
      for (const imported of importedFiles(file).filter((name) => name.startsWith(`src/${spoke}/`))) {
        const isAllowed = layers.indexOf(layerOf(imported)) >= layers.indexOf(layerOf(file));
        expect([file, imported, isAllowed]).toEqual([file, imported, true]);
      }
    }
  });

  it('lets what happens to one run know nothing of what holds all runs', () => {
    const holders = ['agent.service', 'admissions', 'inputs', 'processes', 'scheduler'];
    const one = core.filter((file) => file.startsWith('src/query/runs/one/'));
    expect(one.length).toBeGreaterThan(8);
    for (const file of one) {
      const known = holders.filter((name) => importedFiles(file).includes(`src/query/runs/${name}.ts`));
      expect([file, known]).toEqual([file, []]);
    }
  });

  it('lets no layer of the hub but the platform know the adapters', () => {
    const knowing = core.filter(
      (file) =>
        file.startsWith('src/query/') &&
        /getType\(\)|getInstance|hijack|preParsing/.test(readFileSync(join(ROOT, file), 'utf8')),
    );
    expect(knowing).toEqual(['src/query/platform/host-parsers.ts', 'src/query/platform/host.ts']);
  });

  it('has no import cycle', () => {
    const done = new Set<string>();
    const visit = (file: string, path: string[]): void => {
      if (path.includes(file)) throw new Error(`cycle: ${[...path, file].join(' → ')}`);
      if (done.has(file)) return;
      for (const imported of importedFiles(file)) visit(imported, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(done.size).toBe(files.length);
  });

  it('lets the hub import no spoke', () => {
    const hub = core.filter((file) => spokeOf(file) === 'query');
    expect(hub.length).toBeGreaterThan(10);
    for (const file of hub) {
      for (const imported of importedFiles(file))
        expect(`${file} → ${spokeOf(imported)}`).toBe(`${file} → query`);
    }
  });

  it('lets a spoke import the hub through its index only, and no other spoke but what it is built on', () => {
    for (const file of core.filter((name) => !['query', 'root'].includes(spokeOf(name)))) {
      for (const imported of importedFiles(file)) {
        if (spokeOf(imported) === spokeOf(file)) continue;
        const allowed = ['src/query/index.ts', ...(BUILT_ON[spokeOf(file)] ?? [])];
        expect([file, imported, allowed.includes(imported)]).toEqual([file, imported, true]);
      }
    }
  });

  it('reads the environment in the configuration and the command line only', () => {
    const readers = files.filter((file) =>
      /\bprocess\s*\.\s*env\b|\benv\b.*from 'node:process'/.test(readFileSync(join(ROOT, file), 'utf8')),
    );
    expect(readers.filter((file) => !/^(?:src|packages)\/cli\//.test(file))).toEqual([
      'src/config/read-environment.ts',
      // Where its state is, and what of it an agent gets.
      'packages/adapters/src/processes/environment.ts',
    ]);
  });

  it.each([
    ['kysely', ['stores']],
    ['libsql', ['stores']],
    ['pg', ['stores']],
    ['helmet', ['access']],
    ['jose', ['access']],
    ['rate-limiter-flexible', ['access']],
    ['commander', ['root']],
    ['@opentelemetry/api', ['telemetry']],
    ['prom-client', ['telemetry']],
  ])('imports %s in %j of the core only', (name, spokes) => {
    const importers = core.filter((file) => importedNames(file).map(packageOfName).includes(name));
    expect([...new Set(importers.map(spokeOf))]).toEqual(spokes);
  });

  it('imports @nestjs/swagger where the endpoint is described only', () => {
    const importers = files.filter((file) => importedNames(file).includes('@nestjs/swagger'));
    expect([...new Set(importers.map((file) => packageOf(file).folder))]).toEqual(['packages/openapi']);
  });

  it('loads no optional package with the package root', () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = packages[0]!.manifest;
    const required = [
      ...Object.keys(dependencies!),
      ...Object.keys(peerDependencies!).filter((name) => !peerDependenciesMeta?.[name]?.optional),
    ];
    const reached = new Set<string>();
    const visit = (file: string): void => {
      if (reached.has(file)) return;
      reached.add(file);
      importedFiles(file).forEach(visit);
    };
    visit('src/index.ts');
    const loaded = new Set([...reached].flatMap(importedNames).map(packageOfName));
    for (const name of loaded) expect(required).toContain(name);
    // Those belong to what the root does not export.
    for (const name of ['kysely', 'libsql', 'pg', 'jose', 'helmet', 'commander'])
      expect(loaded).not.toContain(name);
  });
});
