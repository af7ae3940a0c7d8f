/** This service: its module in a host with default settings, the run log and the in-memory store included. */
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Observable } from 'rxjs';
import { message, QueryModule } from '../../../dist/index.js';
import { isPulled, pull, push } from '../work.mjs';
import { listen } from './host.mjs';

function handler({ parts }) {
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
const imports = [QueryModule.forRoot({ handler, limits })];

export const express = () => listen({ imports }, new ExpressAdapter());
export const fastify = () => listen({ imports }, new FastifyAdapter());
