/**
 * Writes how an endpoint is described, as OpenAPI 3.1, into `dist/openapi/endpoint.json`. The service answers
 * `GET /openapi.json` from it, since `@nestjs/swagger` is installed where hosts want it, and not with the service.
 */
import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { QueryModule } from '../dist/index.js';
import { describeQueryModules } from '../dist/openapi/index.js';

const module = QueryModule.forRoot({ handler: async function* () {} });
const app = await NestFactory.create(module, { logger: false });
describeQueryModules(app);
const version = new DocumentBuilder().setOpenAPIVersion('3.1.0').build();
const { paths, components } = SwaggerModule.createDocument(app, version);
await writeFile(
  new URL('../dist/openapi/endpoint.json', import.meta.url),
  JSON.stringify({ paths, schemas: components.schemas }),
);
await app.close();
