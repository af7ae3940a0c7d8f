/**
 * Tries the packed packages where they will be used: `npm run hosts` tries all hosts, `npm run hosts -- 11-commonjs` one.
 *
 * - applications as `nest new` generates them (`applications.mjs`): whether they build, start, answer and pass their own tests, and
 *   whether these load every entry of every package
 * - `existing-11`, `existing-12`: generated applications with the files of docs/existing-app.md
 * - `created`: the application of `npm create nest-agent-query`
 * - `other-versions`: hosts that depend on other versions of what the packages use
 * - `service`: folders in which `npx nest-agent-query serve` is executed
 * - `tutorial`: an empty folder in which docs/tutorial.md is followed
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { entriesOf, packedPackages, ROOT } from '../release/packed.mjs';
import { ADAPTERS, APPLICATIONS, EXTRA_PACKAGES, tableOfHosts } from './applications.mjs';
import { checkAnswers } from './answers.mjs';
import { forEachNamed, npm } from './commands.mjs';
import { tryExisting } from './existing-app.mjs';
import { addJestSettings, generate, withExtensions } from './generated.mjs';
import { installNode } from './node-version.mjs';
import { tryOtherVersions } from './other-versions.mjs';
import { packedOnes } from './packed-host.mjs';
import { tryCreated } from './created.mjs';
import { tryService } from './service.mjs';
import { tryTutorial } from './tutorial.mjs';
import { RELEASED_BEFORE } from './versions.mjs';

/** What programs load, and no application: Jest cannot require it on Node 20, because of a spinner and `import.meta`. */
const OF_PROGRAMS = ['nest-agent-query-cli', 'nest-agent-query-modules'];

const SOURCES = join(import.meta.dirname, 'application');

await checkDocument();
const directory = await mkdtemp(join(tmpdir(), 'hosts-'));
try {
  const packages = await packedPackages(directory);
  const applications = Object.entries(APPLICATIONS).map(([name, application]) => [
    name,
    () => tryApplication(name, application, packages),
  ]);
  const hosts = {
    ...Object.fromEntries(applications),
    ...tryExisting(packages, directory),
    created: () => tryCreated(packages, directory),
    'other-versions': () => tryOtherVersions(packages, directory),
    service: () => tryService(packages, directory),
    tutorial: () => tryTutorial(packages, directory),
  };
  // An installation waits for the network and the disk most of the time.
  await forEachNamed(hosts, (_, tryHost) => tryHost(), 2);
} finally {
  await rm(directory, { recursive: true, force: true });
}

async function tryApplication(name, application, packages) {
  console.log(`\n${name}: Nest ${application.nest}, ${application.modules}, on Node ${application.node}`);
  const folder = join(directory, name);
  await mkdir(folder);
  const env = await installNode(application.node, folder);
  const app = await generate(application, folder, env);
  await addAgent(app, application);
  await addEntries(app, packages);
  await install(app, application, packages, env);
  await npm(['run', 'build'], { cwd: app, env });
  await npm(['test'], { cwd: app, env });
  await npm(['run', 'test:e2e'], { cwd: app, env });
  console.log(`${name}: builds, and passes its own tests with ${application.runner}`);
  for (const adapter of ADAPTERS) {
    const checked = await checkAnswers(app, adapter, env);
    console.log(`${name}: ${adapter}: ${checked.join(', ')}`);
  }
  await rm(folder, { recursive: true, force: true });
}

/** Adds the agent to the sources of the application, and the settings of docs/testing.md to those of its tests. */
async function addAgent(app, { modules, runner, jest }) {
  for (const folder of ['src', 'test'])
    await cp(join(SOURCES, folder), join(app, folder), { recursive: true });
  const path = join(app, 'package.json');
  const manifest = JSON.parse(await readFile(path, 'utf8'));
  for (const folder of ['src', 'test']) {
    for (const file of (await readdir(join(app, folder))).filter((name) => name.endsWith('.ts'))) {
      const source = await readFile(join(app, folder, file), 'utf8');
      await writeFile(join(app, folder, file), withExtensions(source, modules === 'ESM' ? '.js' : ''));
    }
  }
  if (modules === 'ESM') manifest.type = 'module';
  if (jest) await addJestSettings(app, manifest, jest);
  if (runner === 'Vitest' && !manifest.devDependencies.vitest) await useVitest(app, manifest);
  await writeFile(path, JSON.stringify(manifest, null, 2));
}

/** What `nest new` of Nest 12 generates for Vitest, in an application of Nest 11. */
async function useVitest(app, manifest) {
  const config = (pattern) =>
    `import { defineConfig } from 'vitest/config';\nexport default defineConfig({ test: { globals: true, include: ['${pattern}'] } });\n`;
  await writeFile(join(app, 'vitest.config.ts'), config('**/*.spec.ts'));
  await writeFile(join(app, 'vitest.config.e2e.ts'), config('**/*.e2e-spec.ts'));
  manifest.devDependencies.vitest = '^4.1.2';
  Object.assign(manifest.scripts, {
    test: 'vitest run',
    'test:e2e': 'vitest run --config ./vitest.config.e2e.ts',
  });
  const tsconfig = join(app, 'tsconfig.build.json');
  const settings = JSON.parse(await readFile(tsconfig, 'utf8'));
  settings.exclude.push('vitest.config*.ts');
  await writeFile(tsconfig, JSON.stringify(settings));
}

/** A test that loads every entry of every package, as the module system of the application does. */
async function addEntries(app, packages) {
  const entries = packages.flatMap(entriesOf).filter((entry) => !OF_PROGRAMS.includes(entry));
  const imports = entries.map((entry, index) => `import * as entry${index} from '${entry}';`);
  const rows = entries.map((entry, index) => `  ['${entry}', entry${index}],`);
  const test = `it.each<[string, object]>([\n${rows.join('\n')}\n])('%s is loaded', (_, entry) => {
  expect(Object.keys(entry).length).toBeGreaterThan(0);
});
`;
  await writeFile(join(app, 'test/entries.e2e-spec.ts'), `${imports.join('\n')}\n\n${test}`);
}

async function install(app, { nest }, packages, env) {
  const ofNest = ['@nestjs/platform-fastify', '@nestjs/swagger', '@nestjs/terminus'].map(
    (each) => `${each}@${nest}`,
  );
  const packed = Object.values(packedOnes(packages));
  await npm(['install', '--before', RELEASED_BEFORE, ...EXTRA_PACKAGES, ...ofNest, ...packed], {
    cwd: app,
    env,
  });
}

/** The table of docs/hosts.md must say what is tried here. */
async function checkDocument() {
  const rows = (text) => text.split('\n').map((line) => line.replace(/\s*\|\s*/g, '|').replace(/-+/g, '-'));
  const document = rows(await readFile(join(ROOT, 'docs/hosts.md'), 'utf8'));
  const missing = rows(tableOfHosts()).filter((row) => !document.includes(row));
  if (missing.length > 0) throw new Error(`docs/hosts.md must have this table:\n${tableOfHosts()}`);
}
