/** A program that loads rules, and says what it has: `node program.mjs FILE`. */
import process from 'node:process';
import { EXIT_CODES, ModuleFailure, ModuleReloads } from 'nest-agent-query-modules';

const use = {
  ownCode: new URL('./', import.meta.url).href,
  commandFor: (path, flags) => `node ${flags} program.mjs ${path}`,
  otherLanguage: 'Write it in JavaScript.',
  read({ default: rules }) {
    if (Array.isArray(rules)) return rules;
    throw new ModuleFailure('export', 'Its default export must be an array of rules.');
  },
  logger: console,
};

try {
  const { first, reloads } = await ModuleReloads.of(process.argv[2], use);
  console.log(first.join());
  reloads.begin(async (next) => console.log(next.join()));
  // Until stdin ends.
  process.stdin.on('end', () => reloads.stop()).resume();
} catch (error) {
  if (!(error instanceof ModuleFailure)) throw error;
  console.log(error.message);
  process.exitCode = EXIT_CODES[error.reason];
}
