import { existsSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

if (existsSync('.env')) process.loadEnvFile('.env');

const app = await NestFactory.create(AppModule);
// Running answers may end before the process does.
app.enableShutdownHooks();
// Other machines reach it only if HOST says so: the endpoint needs no credential yet.
await app.listen(process.env.PORT || 3000, process.env.HOST || '127.0.0.1');
new Logger('Application').log(`Open ${await app.getUrl()}/playground`);
