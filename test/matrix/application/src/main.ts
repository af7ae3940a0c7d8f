import { ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { CountingInterceptor } from './agent.js';
import { AppModule } from './app.module.js';

async function bootstrap() {
  const adapter = process.env.ADAPTER === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
  const app = await NestFactory.create(AppModule, adapter as ExpressAdapter, { forceCloseConnections: true });
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  const { paths } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
  console.log(`STARTED ${JSON.stringify({ url: await app.getUrl(), paths })}`);
  process.on('exit', () => console.log(`INTERCEPTED ${CountingInterceptor.calls}`));
}
void bootstrap();
