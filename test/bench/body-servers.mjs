/** The servers that `bodies.mjs` compares: each takes a query and answers when it has read it. */
import 'reflect-metadata';
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Body, Controller, Module, Post, Sse, RequestMethod, ValidationPipe } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Type } from 'class-transformer';
import { IsArray, IsBase64, IsIn, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { of } from 'rxjs';
import { QueryModule, message } from '../../dist/index.js';

const GIGABYTES = 4e9;

function bare(read) {
  return async () => {
    const server = createServer((request, response) => {
      read(request).then(
        () => response.end(),
        (error) => response.writeHead(500).end(String(error)),
      );
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return server.address().port;
  };
}

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

/** What most people write: the framework's parser with its limit raised, a validated DTO, and `Buffer.from`. */
class OrdinaryController {
  query({ parts }) {
    for (const part of parts) if (part.base64 !== undefined) Buffer.from(part.base64, 'base64');
    return of({ data: message('read') });
  }
}
Controller('query')(OrdinaryController);
decorate(OrdinaryController.prototype, { query: [Sse(), Post()] });
// `Sse` makes a route a GET, whatever comes after it.
Reflect.defineMetadata(METHOD_METADATA, RequestMethod.POST, OrdinaryController.prototype.query);
Reflect.defineMetadata('design:paramtypes', [QueryDto], OrdinaryController.prototype, 'query');
Body()(OrdinaryController.prototype, 'query', 0);

async function listen(module, adapter, configure = () => undefined) {
  class HostModule {}
  Module(module)(HostModule);
  const app = await NestFactory.create(HostModule, adapter, { logger: ['error'] });
  configure(app);
  await app.listen(0, '127.0.0.1');
  return Number(new URL(await app.getUrl()).port);
}

function ordinary(adapter, raiseLimit) {
  return () =>
    listen({ controllers: [OrdinaryController] }, adapter(), (app) => {
      app.useGlobalPipes(new ValidationPipe({ transform: true }));
      raiseLimit(app);
    });
}

function ours(adapter) {
  const handler = async function* () {
    yield message('read');
  };
  const limits = { fileBytes: GIGABYTES, filesBytes: GIGABYTES };
  return () => listen({ imports: [QueryModule.forRoot({ handler, limits })] }, adapter());
}

export const SERVERS = {
  'read and throw away': bare(async (request) => {
    request.resume();
    await once(request, 'end');
  }),
  'read and hash': bare(async (request) => {
    const hash = createHash('sha256');
    request.on('data', (chunk) => hash.update(chunk));
    await once(request, 'end');
    hash.digest('hex');
  }),
  'ordinary stack, Express': ordinary(
    () => new ExpressAdapter(),
    (app) => app.useBodyParser('json', { limit: GIGABYTES }),
  ),
  'ordinary stack, Fastify': ordinary(
    () => new FastifyAdapter({ bodyLimit: GIGABYTES }),
    () => undefined,
  ),
  'this module, Express': ours(() => new ExpressAdapter()),
  'this module, Fastify': ours(() => new FastifyAdapter()),
};
