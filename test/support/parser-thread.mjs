/** Starts the thread that parses files from its TypeScript source. */
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
await import('../../src/agents/files/thread.ts');
