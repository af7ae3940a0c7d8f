import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CASES, FAULTS, leftOf } from './cases.mjs';
import { installed } from './install.mjs';
import { Model } from './model.mjs';
import { endProcesses } from './processes.mjs';
import { measureRaw } from './raw.mjs';
import { Service } from './service.mjs';

/**
 * Executes all cases with one agent.
 *
 * @returns what was seen, and `failures`: what cases have waited for in vain
 */
export async function seeAgent({ key, name, asks }, version, opened) {
  const { program, measure = measureRaw } = await import(`./agents/${key}.mjs`);
  const folder = await mkdtemp(join(tmpdir(), `real-agent-${key}-`));
  await opened.keep(async () => ({
    stop: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  }));
  const model = await opened.keep(() => Model.start());
  const how = program(model.url, installed);
  await mkdir(join(folder, 'raw'));
  // The first start reads the program from the disk.
  await measure(how, join(folder, 'raw'), randomUUID());
  const measured = await measure(how, join(folder, 'raw'), randomUUID());
  const raw = { ...measured, asks: asks ?? measured.asks };
  const mark = randomUUID();
  const service = await opened.keep(() => Service.start(how, join(folder, 'service'), mark));
  await opened.keep(async () => ({ stop: () => endProcesses(mark) }));
  const { cells, failures } = await executed({ service, model, folder, mark });
  await opened.stop(service);
  console.log(`${name}: ${JSON.stringify({ ...raw, ...cells })}`);
  return { name, version, ...raw, cells, failures: failures.map((failure) => `${name}: ${failure}`) };
}

async function executed(bench) {
  const cells = {};
  const failures = [];
  const execute = async ([key, work]) => {
    try {
      cells[key] = await work(bench);
      console.log(`${key}: ${cells[key]}`);
    } catch (error) {
      failures.push(`${key}: ${error.message}\n${bench.service.output.slice(-2000)}`);
    }
  };
  for (const one of Object.entries(CASES)) await execute(one);
  await Promise.all(Object.entries(FAULTS).map(execute));
  cells.left = await leftOf(bench);
  return { cells, failures };
}
