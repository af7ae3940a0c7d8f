/**
 * A process of a cluster: `node member.mjs <role> <database url> [queue url]`. Tells its port, and whenever it is asked, what it
 * has used and how many runs execute in it.
 */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AgentService, QueryModule } from '../../../dist/index.js';
import { openStore } from '../../../dist/stores/index.js';
import { openDispatcher } from '../../../packages/bullmq/dist/index.js';
import { handler } from '../peers/ours.mjs';

const [role, databaseUrl, queueUrl] = process.argv.slice(2);
const store = await openStore(databaseUrl);
const dispatcher = queueUrl && (await openDispatcher(queueUrl));

class HostModule {}
Module({ imports: [QueryModule.forRoot({ handler, store, ...(dispatcher && { dispatcher }), role })] })(
  HostModule,
);
const app = await NestFactory.create(HostModule, new FastifyAdapter(), { logger: ['error'] });
await app.listen(0, '127.0.0.1');

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const { running } = app.get(AgentService, { strict: false }).load();
  process.send({ cpu: (user + system) / 1e6, running });
});
process.on('disconnect', () => process.exit());
process.send({ port: Number(new URL(await app.getUrl()).port) });
