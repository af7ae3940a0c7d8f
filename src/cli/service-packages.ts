import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Packages that the service needs, and with which variables. */
const NEEDED: [packages: string[], isNeeded: (variables: NodeJS.ProcessEnv) => boolean][] = [
  [['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'], () => true],
  [['fastest-levenshtein', 'helmet', 'prom-client'], () => true],
  [['kysely', 'libsql'], ({ DATABASE_URL = 'file:' }) => DATABASE_URL.startsWith('file:')],
  [['kysely', 'pg'], ({ DATABASE_URL = '' }) => /^postgres/.test(DATABASE_URL)],
  [['bullmq', 'pg'], ({ QUEUE_URL = '' }) => /^postgres/.test(QUEUE_URL)],
  [['bullmq', 'ioredis'], ({ QUEUE_URL = '' }) => /^redis/.test(QUEUE_URL)],
  [['ai', '@ai-sdk/openai-compatible', '@ai-sdk/mcp'], hasAgent('model')],
  [['jose'], ({ JWT_JWKS_URL = '', JWT_SECRET = '' }) => JWT_JWKS_URL + JWT_SECRET !== ''],
  [['rate-limiter-flexible'], ({ QUERIES_PER_MINUTE = '' }) => QUERIES_PER_MINUTE !== ''],
];

/** Says which packages the service lacks, with one command that installs them; undefined if it has all. */
export function missingPackages(variables: NodeJS.ProcessEnv): string | undefined {
  const needed = NEEDED.filter(([, isNeeded]) => isNeeded(variables)).flatMap(([packages]) => packages);
  const missing = [...new Set(needed)].filter((name) => !isInstalled(name));
  if (missing.length === 0) return undefined;
  const { peerDependencies } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { peerDependencies: Record<string, string> };
  const wanted = missing.map((name) => `${name}@${versionOf(name, peerDependencies[name]!)}`);
  return `Packages that the service needs are not installed: ${missing.join(', ')}. Install them with

npm install ${wanted.join(' ')}
`;
}

function hasAgent(kind: string): (variables: NodeJS.ProcessEnv) => boolean {
  return ({ AGENT = '', AGENTS = '' }) =>
    AGENT === kind || AGENTS.split(',').some((entry) => entry.trim().endsWith(`=${kind}`));
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** One version of a range with alternatives. The packages of Nest must have the same one. */
function versionOf(name: string, range: string): string {
  const alternatives = range.split(' || ');
  const ofNest = name.startsWith('@nestjs/') ? `^${majorOfNest()}.` : '';
  return alternatives.find((each) => ofNest !== '' && each.startsWith(ofNest)) ?? alternatives.at(-1)!;
}

function majorOfNest(): string | undefined {
  try {
    const { version } = createRequire(import.meta.url)('@nestjs/common/package.json') as { version: string };
    return version.split('.')[0];
  } catch {
    return undefined;
  }
}
