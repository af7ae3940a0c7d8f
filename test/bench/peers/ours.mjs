/** This service: its module in a host with default settings, the run log and the in-memory store included. */
import { Observable } from 'rxjs';
import { MemoryRunStore, message, QueryModule } from '../../../dist/index.js';
import { isPulled, pull, push } from '../work.mjs';
import { expressAdapter, fastifyAdapter, listen } from './host.mjs';

export function handler({ parts }) {
  const plan = parts.find(({ type }) => type === 'text').text;
  if (isPulled(plan)) return pulled(plan);
  return new Observable((subscriber) =>
    push(
      plan,
      (text) => subscriber.next(message(text)),
      () => subscriber.complete(),
    ),
  );
}

async function* pulled(plan) {
  for await (const text of pull(plan)) yield message(text);
}

const limits = { fileBytes: 4e9, filesBytes: 4e9 };
const serve = (adapter, options) =>
  listen({ imports: [QueryModule.forRoot({ handler, limits, ...options })] }, adapter);

export const express = async () => serve(await expressAdapter());
export const fastify = async () => serve(await fastifyAdapter());

/** The same, with the modules of other protocols beside it. */
export async function protocols() {
  const [{ AiSdkModule }, { AgUiModule }, { OpenAiModule }] = await Promise.all(
    ['ai-sdk', 'ag-ui', 'openai'].map((entry) => import(`nest-agent-query-protocols/${entry}`)),
  );
  const views = [AiSdkModule, AgUiModule, OpenAiModule].map((module) => module.forRoot());
  return listen({ imports: [QueryModule.forRoot({ handler, limits }), ...views] }, await expressAdapter());
}

/** The same, keeping little of its logs: 4 MiB of all of them, or what their followers may still need. */
const little = () => ({ store: new MemoryRunStore({ totalLength: 4 * 1024 * 1024 }) });
export const expressLittle = async () => serve(await expressAdapter(), little());
export const fastifyLittle = async () => serve(await fastifyAdapter(), little());

/** The same with its runs in a database. */
export async function durable(url) {
  // Loaded here, so that the others are what a host without a database is.
  const { openStore } = await import('../../../dist/stores/index.js');
  return serve(await fastifyAdapter(), { store: await openStore(url) });
}
