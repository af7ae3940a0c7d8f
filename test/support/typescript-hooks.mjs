/** Lets Node run TypeScript from its source, for processes that a test starts. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';

/** Relative imports name the file that the compiler writes; its source is loaded instead. */
export function resolve(specifier, context, next) {
  const isOurs = /^\.{1,2}\/.*\.c?js$/.test(specifier) && context.parentURL?.endsWith('.ts');
  return next(isOurs ? specifier.replace(/js$/, 'ts') : specifier, context);
}

export async function load(url, context, next) {
  if (!/\.c?ts$/.test(url)) return next(url, context);
  const isCommonJs = url.endsWith('.cts');
  const { code } = await transform(await readFile(fileURLToPath(url), 'utf8'), {
    filename: fileURLToPath(url),
    configFile: false,
    swcrc: false,
    jsc: {
      target: 'es2022',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
    },
    module: { type: isCommonJs ? 'commonjs' : 'es6' },
  });
  return { format: isCommonJs ? 'commonjs' : 'module', source: code, shortCircuit: true };
}
