/** The hook of imports for versions of Node that execute hooks in a thread of their own: see `watch-imports.ts`. */
import type { InitializeHook, ResolveHook } from 'node:module';
import type { MessagePort } from 'node:worker_threads';
import { type ImportWatch, reportMissing, resolvedUrl } from './module-versions.js';

let watch: ImportWatch;

export const initialize: InitializeHook<{ ownCode: string; port: MessagePort }> = ({ ownCode, port }) => {
  watch = { ownCode, report: (file) => port.postMessage(file) };
};

export const resolve: ResolveHook = async (name, context, next) => {
  const { parentURL } = context;
  try {
    const result = await next(name, context);
    return { ...result, url: resolvedUrl(result.url, parentURL, watch) };
  } catch (error) {
    reportMissing(name, parentURL, watch);
    throw error;
  }
};
