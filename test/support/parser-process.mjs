/** Starts the program of the processes that parse files from its TypeScript source. */
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
await import('../../packages/files/src/parser-process.ts');
