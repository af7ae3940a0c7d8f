import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { FilesLimits } from '../packages/files/src/index.js';
import { ROWS } from '../src/config/variables.js';
import {
  CORS_OPTIONS,
  DEFAULT_BODY_LIMITS,
  MEMORY_RETENTION_DEFAULTS,
  RUN_DEFAULTS,
  STREAM_DEFAULTS,
} from '../src/index.js';
import { STORED_RETENTION_DEFAULTS } from '../src/stores/process/retention-options.js';
import { PROMISES } from './promises.js';
import { DOCUMENTS, membersOf, read, ROOT, tableRows } from './support/documents.js';

describe.each(DOCUMENTS)('%s', (document) => {
  it('has links that lead somewhere', () => {
    const text = read(document).replace(/^(`{3,})\w*\n[^]*?^\1$/gm, '');
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
    const broken = links.filter((link) => !/^https?:/.test(link) && !leadsSomewhere(document, link));
    expect(broken).toEqual([]);
  });
});

function leadsSomewhere(document: string, link: string): boolean {
  const [path, anchor] = link.split('#', 2);
  const target = path ? join(dirname(document), path) : document;
  if (!existsSync(join(ROOT, target))) return false;
  return anchor === undefined || anchorsOf(target).includes(anchor);
}

/** The anchors that GitHub gives to the headings of a document. */
function anchorsOf(document: string): string[] {
  return [...read(document).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  );
}

describe.each([
  'CONTRIBUTING.md',
  ...['architecture', 'compared', 'inside-stores', 'performance'].map((name) => `docs/${name}.md`),
])('%s', (document) => {
  it('names files and folders that are there', () => {
    const named = [...read(document).matchAll(/`([\w.-]+\/[\w./-]*)`/g)].map(([, path]) => path!);
    // Entries of the package are no files.
    const paths = named.filter((path) => !path.startsWith('nest-agent-query'));
    const bases = ['', 'src', 'src/query', 'src/stores'];
    const missing = paths.filter((path) => !bases.some((base) => existsSync(join(ROOT, base, path))));
    expect(missing).toEqual([]);
  });
});

describe('The page of the architecture', () => {
  it('has every layer of the hub', () => {
    const layers = tableRows('docs/architecture.md').map(({ cells }) => cells[0]!);
    const folders = readdirSync(join(ROOT, 'src/query'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `\`${name}/\``);
    expect(layers).toEqual(expect.arrayContaining(folders));
  });
});

describe('The HTTP contract', () => {
  it('has every code with its status, and no others', () => {
    const rows = tableRows('docs/http.md');
    const withStatus = rows
      .filter(({ heading }) => heading[0] === 'Status' && heading[1] === '`code`')
      .filter(({ cells }) => /^\d+$/.test(cells[0]!))
      .map(({ cells: [status, code] }) => `${status} ${code}`);
    const inDone = rows
      .filter(({ heading }) => heading[0] === '`error.code`')
      .map(({ cells: [code] }) => code);
    const isListed = ([code, status]: [string, number]) =>
      inDone.includes(quoted(code)) || withStatus.includes(`${status} ${quoted(code)}`);
    const codes = statusOfCodes();
    expect(codes.filter((each) => !isListed(each) && each[0] !== 'refused')).toEqual([]);
    const known = codes.map(([code]) => quoted(code));
    const shown = rows.map(({ heading, cells }) => cells[heading.indexOf('`code`')]).filter(Boolean);
    expect(shown.length).toBeGreaterThan(15);
    expect(shown.filter((code) => !known.includes(code!))).toEqual([]);
  });

  it('has no header of requests that CORS_OPTIONS does not allow', () => {
    const rows = tableRows('docs/http.md').filter(({ heading }) => heading[1] === 'On');
    const shown = new Set(rows.map(({ cells: [name] }) => name!.replaceAll('`', '')));
    // A page may always send it.
    shown.delete('Accept');
    expect(shown.size).toBeGreaterThan(2);
    expect([...shown].filter((name) => !CORS_OPTIONS.allowedHeaders.split(',').includes(name))).toEqual([]);
  });

  it('has the default of every limit', () => {
    const rows = tableRows('docs/http.md').filter(({ heading }) => heading[0] === '`limit`');
    const shown = Object.fromEntries(rows.map(({ cells: [limit, , value] }) => [limit, value]));
    const MiB = 1024 * 1024;
    const { fileBytes, filesBytes, textBytes, documentBytes, values, parts, depth } = DEFAULT_BODY_LIMITS;
    expect(shown).toEqual({
      '`fileBytes`': `${fileBytes / MiB} MiB`,
      '`filesBytes`': `${filesBytes / MiB} MiB`,
      '`textBytes`': `${textBytes / MiB} MiB`,
      '`documentBytes`': `${documentBytes / MiB} MiB`,
      '`values`': values.toLocaleString('en'),
      '`parts`': parts.toLocaleString('en'),
      '`depth`': `${depth}`,
    });
  });
});

/** The codes with their status, as the source has them. */
function statusOfCodes(): [string, number][] {
  const path = 'src/query/contract/errors.ts';
  const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.Latest, true);
  const codes: [string, number][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node)) {
      const [status] = /\b[1-5]\d\d\b/.exec(node.initializer.getText()) ?? [];
      if (status) codes.push([node.name.getText(), Number(status)]);
      return;
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return codes;
}

function quoted(value: unknown): string {
  return `\`${String(value)}\``;
}

describe('The page of options', () => {
  const rows = tableRows('docs/options.md').filter(({ heading }) => heading[1] === 'Variable');
  const rowOf = (column: number, name: string) => rows.find(({ cells }) => cells[column] === quoted(name));

  it.each(ROWS)('has the variable %s with its default and meaning', (name, { value, means }) => {
    const { heading, cells } = rowOf(1, name)!;
    expect(cells.at(-1)).toBe(means);
    if (heading[2] === 'Memory') return;
    const isShown = value !== '' && value !== undefined && value !== Infinity;
    if (isShown) expect(cells[2]).toBe(quoted(value));
    else expect(cells[2]).toMatch(/^[^`]/);
  });

  it('has no other variable', () => {
    const shown = rows.map(({ cells }) => cells[1]!).filter((cell) => cell !== '');
    expect(shown.sort()).toEqual(ROWS.map(([name]) => quoted(name)).sort());
  });

  it.each([
    ['limits', DEFAULT_BODY_LIMITS],
    ['runs', { ...RUN_DEFAULTS, disconnect: 'grace' }],
    ['streams', STREAM_DEFAULTS],
  ])('has the options of %s with their defaults, and no others', (group, defaults) => {
    const inGroup = rows.filter(({ cells }) => cells[0]!.startsWith(`\`${group}.`));
    const shown = inGroup.map(({ cells }) => [cells[0], cells[2]]);
    const expected = Object.entries(defaults).map(([name, value]) => [
      quoted(`${group}.${name}`),
      value === Infinity ? 'none' : quoted(value),
    ]);
    expect(shown.sort()).toEqual(expected.sort());
  });

  it.each([
    ['memory', 2, MEMORY_RETENTION_DEFAULTS],
    ['SQL', 3, STORED_RETENTION_DEFAULTS],
  ])('has what the %s store keeps by default', (_, column, defaults) => {
    const table = rows.filter(({ heading }) => heading[2] === 'Memory');
    const shown = table
      .filter(({ cells }) => cells[column] !== '–')
      .map(({ cells }) => [cells[0], cells[column]]);
    const expected = Object.entries(defaults).map(([name, value]) => [quoted(name), quoted(value)]);
    expect(shown.sort()).toEqual(expected.sort());
  });

  it.each(membersOf('src/query/options/query.options.ts', ['QueryModuleOptions', 'QueryModuleExtras']))(
    'has the option %s',
    (name) => {
      const isShown = ({ cells }: { cells: string[] }) =>
        cells[0] === quoted(name) || cells[0]!.startsWith(`\`${name}.`);
      expect(rows.some(isShown)).toBe(true);
    },
  );

  it('has the options of openStore and of Postgres, and no others', () => {
    const table = tableRows('docs/options.md').filter(({ heading }) => heading[0]!.startsWith('Option of'));
    const shown = table.map(({ cells }) => cells[0]);
    const ofStore = membersOf('src/stores/open-store.ts', ['StoreOptions']);
    const ofPostgres = membersOf('src/stores/drivers/postgres-driver.ts', ['PostgresOptions']);
    const expected = [
      ...ofStore.filter((name) => name !== 'postgres'),
      ...ofPostgres.map((name) => `postgres.${name}`),
    ];
    expect(shown.sort()).toEqual(expected.map(quoted).sort());
  });
});

describe('The page of comparisons', () => {
  const [, incidents] = /^## Four incidents\n([^]*?)^## /m.exec(read('docs/compared.md'))!;

  it('cites promises that are made', () => {
    const cited = [...incidents!.matchAll(/`((?:cluster|service)\.[\w-]+)`/g)].map(([, id]) => id!);
    expect(cited.length).toBeGreaterThan(5);
    expect(cited.filter((id) => !(id in PROMISES))).toEqual([]);
  });

  it('cites tests by their words', () => {
    const cited = [...incidents!.matchAll(/"([^"]+)"/g)].map(([, words]) => words!.replace(/\s+/g, ' '));
    expect(cited).toHaveLength(4);
    const spec = read('test/e2e/cluster/incidents.spec.ts');
    expect(cited.filter((words) => !spec.includes(words))).toEqual([]);
  });
});

describe('The limits of the agent files', () => {
  it('are all in the options, with their defaults', () => {
    const rows = tableRows('docs/options.md').filter(({ heading }) => heading[0] === 'Limit');
    expect(Object.fromEntries(rows.map(({ cells: [name, value] }) => [name, value]))).toEqual(
      Object.fromEntries(
        Object.entries(new FilesLimits()).map(([name, value]) => [quoted(name), quoted(value)]),
      ),
    );
  });
});
