/** Starts a Nest application, with an adapter that is loaded when it is needed: a host has one of them. */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

export async function expressAdapter() {
  const { ExpressAdapter } = await import('@nestjs/platform-express');
  return new ExpressAdapter();
}

export async function fastifyAdapter(options) {
  const { FastifyAdapter } = await import('@nestjs/platform-fastify');
  return new FastifyAdapter(options);
}

export async function listen(metadata, adapter, configure = () => undefined) {
  class HostModule {}
  Module(metadata)(HostModule);
  const app = await NestFactory.create(HostModule, adapter, { logger: ['error'] });
  configure(app);
  await app.listen(0, '127.0.0.1');
  return Number(new URL(await app.getUrl()).port);
}
