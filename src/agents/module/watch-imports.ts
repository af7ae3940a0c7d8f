import module, { createRequire, type ResolveFnOutput, type ResolveHookContext } from 'node:module';
import { pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import {
  fingerprintOf,
  isReloaded,
  reportMissing,
  resolvedUrl,
  type VersionFile,
} from './module-versions.js';

type SyncResolve = (
  name: string,
  context: ResolveHookContext,
  next: (name: string, context: ResolveHookContext) => ResolveFnOutput,
) => ResolveFnOutput;

/** Node 22.15 and newer; the types are of Node 20. */
type RegisterHooks = (hooks: { resolve: SyncResolve }) => unknown;

const listeners = new Set<(file: VersionFile) => void>();
let isRegistered = false;

const report = (file: VersionFile) => listeners.forEach((listener) => listener(file));

/** Lets every import of a version lead to files of this version. The listener is told about the files. Cannot be undone. */
export function watchImports(listener: (file: VersionFile) => void): void {
  listeners.add(listener);
  if (isRegistered) return;
  isRegistered = true;
  const { registerHooks } = module as { registerHooks?: RegisterHooks };
  if (registerHooks) registerHooks({ resolve });
  else registerThread();
}

const resolve: SyncResolve = (name, context, next) => {
  const { parentURL } = context;
  try {
    const result = next(name, context);
    return { ...result, url: resolvedUrl(result.url, parentURL, report) };
  } catch (error) {
    reportMissing(name, parentURL, report);
    throw error;
  }
};

function registerThread(): void {
  const { port1, port2 } = new MessageChannel();
  port1.on('message', report);
  port1.unref();
  module.register('./import-hooks.js', import.meta.url, { data: { port: port2 }, transferList: [port2] });
}

const { cache } = createRequire(import.meta.url);

/** Lets the CommonJS files that are not of packages be read again. They are known by their paths alone. */
export function forgetCommonJs(): void {
  for (const path of commonJsFiles()) delete cache[path];
}

/** The CommonJS files of a version that was just loaded. */
export function commonJsOf(version: number): VersionFile[] {
  return commonJsFiles().map((path) => ({ version, path, fingerprint: fingerprintOf(path) }));
}

function commonJsFiles(): string[] {
  return Object.keys(cache).filter((path) => isReloaded(pathToFileURL(path).href));
}
