/** Puts the files of docs/existing-app.md into generated applications, tests them, and starts them. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { APPLICATIONS } from './applications.mjs';
import { npm } from './commands.mjs';
import { addJestSettings, generate } from './generated.mjs';
import { installNode } from './node-version.mjs';
import { packedWithOurs } from './packed-host.mjs';
import { Program } from './program.mjs';
import { freePort } from '../support/free-port.mjs';
import { RELEASED_BEFORE } from './versions.mjs';

const DOCS = resolve(import.meta.dirname, '../../docs');
const SECRET = 'of the hosts';

/** What is in the sources of a generated application, and not in those of the document. */
const GENERATED = ['src/app.controller.ts', 'src/app.controller.spec.ts', 'src/app.service.ts'];

/**
 * @param packages the packed packages
 * @returns by its name, a function for each application
 */
export function tryExisting(packages, directory) {
  return {
    'existing-11': () => tryIn(APPLICATIONS['11-commonjs'], packages, join(directory, 'existing-11')),
    'existing-12': () => tryIn(APPLICATIONS['12-commonjs'], packages, join(directory, 'existing-12')),
  };
}

async function tryIn(application, packages, folder) {
  const document = await readFile(join(DOCS, 'existing-app.md'), 'utf8');
  await mkdir(folder);
  const env = await installNode(application.node, folder);
  const app = await generate(application, folder, env);
  for (const file of GENERATED) await rm(join(app, file));
  for (const [name, code] of filesOf(document)) await writeFile(join(app, name), code);
  if (application.jest) {
    const path = join(app, 'package.json');
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    await addJestSettings(app, manifest, application.jest);
    await writeFile(path, JSON.stringify(manifest, null, 2));
  }
  const packed = packedWithOurs(packages, ['nest-agent-query']);
  const names = installedOf(document, application.nest).filter((name) => name !== 'nest-agent-query');
  const dated = ['install', '--before', RELEASED_BEFORE];
  await npm([...dated, ...names, ...Object.values(packed)], { cwd: app, env });
  await npm([...dated, '--save-dev', '@types/compression'], { cwd: app, env });
  await checkCompanions(app, application.nest);
  await npm(['run', 'build'], { cwd: app, env });
  await npm(['run', 'test:e2e'], { cwd: app, env });
  await start(app, env);
  console.log(`docs/existing-app.md: works with Nest ${application.nest}, on Node ${application.node}`);
  await rm(folder, { recursive: true, force: true });
}

/** The files of a document, by the paths in their first lines. */
function filesOf(document) {
  const found = document.matchAll(/^```typescript\n\/\/ (\S+)\n([^]*?)^```$/gm);
  const files = [...found].map(([, name, code]) => [name, code]);
  assert.equal(files.length, 7, 'The document has seven files.');
  return files;
}

/** What the document tells users of a version of Nest to install. */
function installedOf(document, nest) {
  const [, command] = new RegExp(`^With Nest ${nest}:\\n\\n\`\`\`sh\\nnpm install ([^]*?)^\`\`\`$`, 'm').exec(
    document,
  );
  return command.split(/[\s\\]+/).filter(Boolean);
}

/** The table of companions in docs/hosts.md must have the versions that npm has installed. */
async function checkCompanions(app, nest) {
  const document = await readFile(join(DOCS, 'hosts.md'), 'utf8');
  const rows = document.matchAll(/^\| `(@nestjs\/\w+)` +\| (\S+) +\| (\S+) +\|$/gm);
  let checked = 0;
  for (const [, name, of11, of12] of rows) {
    const installed = JSON.parse(await readFile(join(app, 'node_modules', name, 'package.json'), 'utf8'));
    assert.equal(nest === 11 ? of11 : of12, installed.version, `docs/hosts.md: ${name} of Nest ${nest}`);
    checked += 1;
  }
  assert.equal(checked, 5, 'docs/hosts.md has five companions.');
}

async function start(app, env) {
  const port = String(await freePort());
  const variables = { JWT_SECRET: SECRET, AGENT_DATABASE_URL: 'file:data/agents.db', PORT: port };
  const host = new Program('node', ['dist/main.js'], { cwd: app, env: { ...env, ...variables } });
  await host.during(async () => {
    await host.prints(/successfully started/);
    await checkAnswer(`http://127.0.0.1:${port}/api/v1/query`);
  });
  assert.doesNotMatch(host.output, /ERROR|Warning/);
}

async function checkAnswer(url) {
  const body = JSON.stringify({ parts: [{ type: 'text', text: 'Who are you?' }] });
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  assert.equal((await fetch(url, options)).status, 401);
  options.headers.authorization = `Bearer ${tokenOf('ann')}`;
  assert.equal(
    await (await fetch(url, options)).text(),
    'data: {"type":"message","data":{"content":"Hello! "}}\n\n' +
      'data: {"type":"message","data":{"content":"Who are you?"}}\n\n' +
      'data: {"type":"done","data":{"status":"completed"}}\n\n',
  );
}

/** A token as `@nestjs/jwt` signs it. */
function tokenOf(sub) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ sub })}`;
  return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`;
}
