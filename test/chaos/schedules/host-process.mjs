/** The process of a host: see `host-process.ts`. */
import { register } from 'node:module';

register('../../support/typescript-hooks.mjs', import.meta.url);
await import('./host-process.ts');
