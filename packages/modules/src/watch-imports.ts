import module, { createRequire, type ResolveFnOutput, type ResolveHookContext } from 'node:module';
import { pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import {
  fingerprintOf,
  type ImportWatch,
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

/**
 * Lets every import of a version lead to files of this version. Cannot be undone.
 *
 * @param ownCode of the program. A process is one program: that of the first call counts
 * @param listener is told about the files
 */
export function watchImports(ownCode: string, listener: (file: VersionFile) => void): void {
  listeners.add(listener);
  if (isRegistered) return;
  isRegistered = true;
  const { registerHooks } = module as { registerHooks?: RegisterHooks };
  if (registerHooks) registerHooks({ resolve: hookOf({ ownCode, report }) });
  else registerThread(ownCode);
}

function hookOf(watch: ImportWatch): SyncResolve {
  return (name, context, next) => {
    const { parentURL } = context;
    try {
      const result = next(name, context);
      return { ...result, url: resolvedUrl(result.url, parentURL, watch) };
    } catch (error) {
      reportMissing(name, parentURL, watch);
      throw error;
    }
  };
}

function registerThread(ownCode: string): void {
  const { port1, port2 } = new MessageChannel();
  port1.on('message', report);
  port1.unref();
  const data = { ownCode, port: port2 };
  module.register('./import-hooks.js', import.meta.url, { data, transferList: [port2] });
}

const { cache } = createRequire(import.meta.url);

/** Lets the CommonJS files that are not of packages be read again. They are known by their paths alone. */
export function forgetCommonJs(ownCode: string): void {
  for (const path of commonJsFiles(ownCode)) delete cache[path];
}

/** The CommonJS files of a version that was just loaded. */
export function commonJsOf(version: number, ownCode: string): VersionFile[] {
  return commonJsFiles(ownCode).map((path) => ({ version, path, fingerprint: fingerprintOf(path) }));
}

function commonJsFiles(ownCode: string): string[] {
  return Object.keys(cache).filter((path) => isReloaded(pathToFileURL(path).href, ownCode));
}
