/** Starts the program of the processes that parse files as if no optional package was installed. */
import { readFileSync } from 'node:fs';
import { register } from 'node:module';

const { peerDependenciesMeta } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
const hooks = `
  const missing = ${JSON.stringify(Object.keys(peerDependenciesMeta))};
  export function resolve(specifier, context, next) {
    if (!missing.includes(specifier)) return next(specifier, context);
    const error = new Error("Cannot find package '" + specifier + "' imported from " + context.parentURL);
    throw Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND' });
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
await import('./parser-process.mjs');
