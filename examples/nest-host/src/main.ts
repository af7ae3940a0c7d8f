import 'reflect-metadata';
import { join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';

const app = await NestFactory.create<NestExpressApplication>(AppModule);
// Lets running answers end when the process gets SIGTERM.
app.enableShutdownHooks();
// The page of examples/browser, on the same origin as the endpoint.
app.useStaticAssets(join(import.meta.dirname, '../../browser'));
await app.listen(process.env['PORT'] ?? 3000, '127.0.0.1');
console.log(`Open ${await app.getUrl()}/`);
