/** The hook of imports for versions of Node that execute hooks in a thread of their own: see `watch-imports.ts`. */
import type { InitializeHook, ResolveHook } from 'node:module';
import type { MessagePort } from 'node:worker_threads';
import { reportMissing, resolvedUrl, type VersionFile } from './module-versions.js';

let report: (file: VersionFile) => void;

export const initialize: InitializeHook<{ port: MessagePort }> = ({ port }) => {
  report = (file) => port.postMessage(file);
};

export const resolve: ResolveHook = async (name, context, next) => {
  const { parentURL } = context;
  try {
    const result = await next(name, context);
    return { ...result, url: resolvedUrl(result.url, parentURL, report) };
  } catch (error) {
    reportMissing(name, parentURL, report);
    throw error;
  }
};
