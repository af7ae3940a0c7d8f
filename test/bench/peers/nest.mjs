/** What most people write with Nest: the framework's parser with its limit raised, a validated DTO, and `@Sse`. */
import { Buffer } from 'node:buffer';
import { Body, Controller, Post, RequestMethod, Sse, ValidationPipe } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { Type } from 'class-transformer';
import { IsArray, IsBase64, IsIn, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { Observable } from 'rxjs';
import { push } from '../work.mjs';
import { expressAdapter, fastifyAdapter, listen } from './host.mjs';
import { message } from './query.mjs';

/** Applies decorators without a compiler. */
function decorate(target, members) {
  for (const [name, decorators] of Object.entries(members)) {
    const descriptor = Object.getOwnPropertyDescriptor(target, name);
    for (const decorator of decorators) decorator(target, name, descriptor);
  }
}

class PartDto {}
decorate(PartDto.prototype, {
  type: [IsIn(['text', 'file'])],
  text: [IsOptional(), IsString()],
  name: [IsOptional(), IsString()],
  mimeType: [IsOptional(), IsString()],
  base64: [IsOptional(), IsBase64()],
});

class QueryDto {}
decorate(QueryDto.prototype, {
  parts: [IsArray(), ValidateNested({ each: true }), Type(() => PartDto)],
  kwargs: [IsOptional(), IsObject()],
});

class SseController {
  query({ parts }) {
    for (const part of parts) if (part.base64 !== undefined) Buffer.from(part.base64, 'base64');
    const plan = parts.find(({ type }) => type === 'text').text;
    return new Observable((subscriber) =>
      push(
        plan,
        (text) => subscriber.next({ data: message(text) }),
        () => subscriber.complete(),
      ),
    );
  }
}
Controller('query')(SseController);
decorate(SseController.prototype, { query: [Sse(), Post()] });
// `Sse` makes a route a GET, whatever comes after it.
Reflect.defineMetadata(METHOD_METADATA, RequestMethod.POST, SseController.prototype.query);
Reflect.defineMetadata('design:paramtypes', [QueryDto], SseController.prototype, 'query');
Body()(SseController.prototype, 'query', 0);

const BODY_LIMIT = 4e9;

function start(adapter, raiseLimit) {
  return listen({ controllers: [SseController] }, adapter, (app) => {
    app.useGlobalPipes(new ValidationPipe({ transform: true }));
    raiseLimit(app);
  });
}

export const express = async () =>
  start(await expressAdapter(), (app) => app.useBodyParser('json', { limit: BODY_LIMIT }));
export const fastify = async () => start(await fastifyAdapter({ bodyLimit: BODY_LIMIT }), () => undefined);
