import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { NODE } from './versions.mjs';

export const ADAPTERS = ['express', 'fastify'];

/** Packages of other features that hosts combine with the agent, and those that the packages share with their hosts. */
export const EXTRA_PACKAGES = [
  '@nestjs/throttler@6.7.1',
  'nestjs-cls@6.3.1',
  'class-validator',
  'class-transformer',
  'prom-client',
  '@opentelemetry/api',
  'ai@6',
  '@langchain/core@1',
  '@langchain/langgraph@1',
  '@mastra/core@0.24',
  '@openai/agents@0.14',
  'zod@4',
];

/**
 * The generated applications. `type` is the module system as the generator of Nest 12 is told it; that of Nest 11 knows only
 * CommonJS. `jest`: what the application adds to its settings of Jest.
 */
export const APPLICATIONS = {
  '11-commonjs': {
    nest: 11,
    modules: 'CommonJS',
    runner: 'Jest',
    node: NODE.lowest,
    jest: documentedSettings(),
  },
  '11-esm': { nest: 11, modules: 'ESM', runner: 'Vitest', node: NODE[20] },
  '12-commonjs': { nest: 12, modules: 'CommonJS', runner: 'Jest', node: NODE[24], type: 'cjs' },
  '12-esm': { nest: 12, modules: 'ESM', runner: 'Vitest', node: NODE[22], type: 'esm' },
};

/** The table of docs/hosts.md: each row is tried. */
export function tableOfHosts() {
  const rows = Object.entries(APPLICATIONS).flatMap(([name, { nest, node, modules, runner }]) =>
    ADAPTERS.map((adapter) => [`\`${name}\``, nest, node, modules, adapter, runner, 'yes']),
  );
  const heading = ['Application', 'Nest', 'Node', 'Modules', 'Adapter', 'Test runner', 'Works'];
  return [heading, heading.map(() => '-'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The settings of Jest that docs/testing.md tells hosts to add. */
function documentedSettings() {
  const document = readFileSync(resolve(import.meta.dirname, '../../docs/testing.md'), 'utf8');
  const [, settings] = /^```json\n([^]*?)^```$/m.exec(document);
  return JSON.parse(settings);
}
