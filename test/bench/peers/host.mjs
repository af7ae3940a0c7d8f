/** Starts a Nest application. */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

export async function listen(metadata, adapter, configure = () => undefined) {
  class HostModule {}
  Module(metadata)(HostModule);
  const app = await NestFactory.create(HostModule, adapter, { logger: ['error'] });
  configure(app);
  await app.listen(0, '127.0.0.1');
  return Number(new URL(await app.getUrl()).port);
}
