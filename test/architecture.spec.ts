import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';

const SRC = resolve(import.meta.dirname, '../src');

/** The files of `src` that are built, relative to it. */
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.tsx?$/.test(file) && !/\.spec\.ts$|vite\.config\.ts$/.test(file),
);

function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  return ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName);
}

/** The files that a file imports, types included. */
function importedFiles(file: string): string[] {
  return importsOf(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => relative(SRC, resolve(SRC, dirname(file), name.replace(/\.js$/, '.ts'))))
    .map((name) => (files.includes(name) ? name : name.replace(/\.ts$/, '.tsx')));
}

function importedPackages(file: string): string[] {
  return importsOf(file)
    .filter((name) => !name.startsWith('.') && !name.startsWith('node:'))
    .map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
}

/** The folder under `src` that a file belongs to. Each agent is a spoke of its own. The command line belongs to the root. */
function spokeOf(file: string): string {
  const [first, second] = file.split('/');
  if (!file.includes('/') || first === 'cli' || first === 'config') return 'root';
  return first === 'agents' ? `agents/${second}` : first!;
}

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
  stores: ['root', 'runs', 'files', 'drivers', 'schema'],
};

/** The layer of a file, for example `http` of `query/http/headers.ts`. */
function layerOf(file: string): string {
  const [, second, third] = file.split('/');
  return third === undefined ? 'root' : second!;
}

/** What spokes import besides the hub. Everything that asks a model translates it in the same way. */
const BUILT_ON: Record<string, string[]> = {
  'agents/ai-sdk': ['agents/translation/index.ts'],
  'agents/langgraph': ['agents/translation/index.ts'],
  'agents/mastra': ['agents/translation/index.ts'],
  'agents/model': ['agents/ai-sdk/index.ts', 'agents/files/index.ts', 'agents/translation/index.ts'],
  'agents/openai-agents': ['agents/translation/index.ts'],
  // The page asks with the client. Who serves it says that it needs no credential.
  playground: ['access/index.ts', 'client/index.ts'],
};

describe('The architecture', () => {
  it.each(Object.entries(LAYERS))('lets the layers of %s import in one direction only', (spoke, layers) => {
    const members = files.filter((file) => file.startsWith(`${spoke}/`));
    expect([...new Set(members.map(layerOf))].sort()).toEqual([...layers].sort());
    for (const file of members) {
      for (const imported of importedFiles(file).filter((name) => name.startsWith(`${spoke}/`))) {
        const isAllowed = layers.indexOf(layerOf(imported)) >= layers.indexOf(layerOf(file));
        expect([file, imported, isAllowed]).toEqual([file, imported, true]);
      }
    }
  });

  it('lets no layer of the hub but the platform know the adapters', () => {
    const knowing = files.filter(
      (file) =>
        file.startsWith('query/') &&
        /getType\(\)|getInstance|hijack|preParsing/.test(readFileSync(join(SRC, file), 'utf8')),
    );
    expect(knowing).toEqual(['query/platform/host-parsers.ts', 'query/platform/host.ts']);
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
    const hub = files.filter((file) => spokeOf(file) === 'query');
    expect(hub.length).toBeGreaterThan(10);
    for (const file of hub) {
      for (const imported of importedFiles(file))
        expect(`${file} → ${spokeOf(imported)}`).toBe(`${file} → query`);
    }
  });

  it('lets a spoke import the hub through its index only, and no other spoke but what it is built on', () => {
    for (const file of files.filter((name) => !['query', 'root'].includes(spokeOf(name)))) {
      for (const imported of importedFiles(file)) {
        if (spokeOf(imported) === spokeOf(file)) continue;
        const hub = spokeOf(file) === 'client' ? 'query/contract/wire.ts' : 'query/index.ts';
        const allowed = [hub, ...(BUILT_ON[spokeOf(file)] ?? [])];
        expect([file, imported, allowed.includes(imported)]).toEqual([file, imported, true]);
      }
    }
  });

  it('lets the page import nothing of the service but the client', () => {
    const page = files.filter((file) => file.startsWith('playground/page/'));
    expect(page.length).toBeGreaterThan(20);
    for (const file of page) {
      const others = importedFiles(file).filter((name) => !name.startsWith('playground/page/'));
      expect([file, others.filter((name) => name !== 'client/index.ts')]).toEqual([file, []]);
    }
    const served = files.filter((file) => file.startsWith('playground/') && !page.includes(file));
    expect(served.flatMap(importedFiles).filter((name) => page.includes(name))).toEqual([]);
  });

  it('lets only the composition root know a spoke', () => {
    const knowing = files.filter(
      (file) =>
        spokeOf(file) === 'root' &&
        !file.startsWith('cli/') &&
        importedFiles(file).some((name) => !['query', 'root'].includes(spokeOf(name))),
    );
    expect(knowing.sort()).toEqual([
      'app.module.ts',
      'config/environment.ts',
      'config/options.ts',
      'config/secrets.ts',
      'load-agent.ts',
      'logger.ts',
      'start.ts',
    ]);
  });

  it('lets the command line know the typed client, the service as a whole and the form of keys', () => {
    const imported = files
      .filter((file) => file.startsWith('cli/'))
      .flatMap(importedFiles)
      .filter((name) => !name.startsWith('cli/'));
    expect([...new Set(imported)].sort()).toEqual([
      'access/keys/api-key.ts',
      'client/index.ts',
      'config/environment.ts',
      'config/flags.ts',
      'never-block.ts',
      'start.ts',
    ]);
  });

  it('reads the environment in the configuration and the command line only', () => {
    const readers = files.filter((file) =>
      /\bprocess\s*\.\s*env\b|\benv\b.*from 'node:process'/.test(readFileSync(join(SRC, file), 'utf8')),
    );
    expect(readers.filter((file) => !file.startsWith('cli/'))).toEqual(['config/read-environment.ts']);
  });

  it.each([
    ['kysely', ['stores', 'workers']],
    ['libsql', ['stores', 'workers', 'agents/files']],
    ['pg', ['stores', 'workers']],
    ['bullmq', ['workers']],
    ['ioredis', ['workers']],
    ['@nestjs/swagger', ['openapi']],
    ['helmet', ['access']],
    ['jose', ['access']],
    ['rate-limiter-flexible', ['access']],
    ['commander', ['root']],
    ['preact', ['playground']],
    ['marked', ['playground']],
    ['dompurify', ['playground']],
    ['highlight.js', ['playground']],
    ['@opentelemetry/api', ['telemetry']],
    ['@nestjs/terminus', ['telemetry']],
    ['prom-client', ['telemetry']],
    ['eventsource-parser', ['agents/remote', 'client', 'root']],
    ['@openai/agents', ['agents/openai-agents']],
    ['@mastra/core', ['agents/mastra']],
    ['ai', ['agents/ai-sdk', 'agents/model']],
    ['@ai-sdk/openai-compatible', ['agents/model']],
    ['@langchain/core', ['agents/langgraph']],
    ['@langchain/langgraph', ['agents/langgraph']],
    ['@ai-sdk/mcp', ['agents/model']],
  ])('imports %s in %j only', (name, spokes) => {
    for (const file of files.filter((each) => importedPackages(each).includes(name)))
      expect(spokes).toContain(spokeOf(file));
  });

  it('loads no optional package with the package root', () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
      readFileSync(resolve(SRC, '../package.json'), 'utf8'),
    ) as Record<string, Record<string, { optional?: boolean }>>;
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
    visit('index.ts');
    for (const name of [...reached].flatMap(importedPackages)) expect(required).toContain(name);
  });
});
