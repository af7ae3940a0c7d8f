import type { INestApplicationContext, Type } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import { ApiTags } from '@nestjs/swagger';
import { QueryModule } from 'nest-agent-query';
import { Endpoint } from 'nest-agent-query/protocol';
import { OPERATIONS } from './operations.js';

/** The key under which `ApiTags` keeps the tags of a controller. */
const TAGS_METADATA = 'swagger/apiUseTags';

/**
 * Describes the endpoints of all query modules of an application for `@nestjs/swagger`: the body of a query, with the class of
 * the option `kwargs`; the stream with its envelopes; problems with their codes; and every other route. Call it before
 * `SwaggerModule.createDocument`.
 *
 * The tag of an endpoint is its path, unless the host has given it one with `ApiTags`. The ids of its operations begin with its
 * path, so that they are unique with several modules.
 *
 * @example
 * describeQueryModules(app);
 * const document = SwaggerModule.createDocument(app, new DocumentBuilder().setTitle('My agents').build());
 * SwaggerModule.setup('api', app, document);
 */
export function describeQueryModules(app: INestApplicationContext): void {
  const names = new Set<string>();
  for (const module of app.get(ModulesContainer, { strict: false }).values()) {
    if (module.metatype !== QueryModule) continue;
    const endpoint = module.providers.get(Endpoint)?.instance as Endpoint | undefined;
    for (const { metatype } of module.controllers.values()) {
      if (metatype) describe(metatype as Type, endpoint?.kwargs, names);
    }
  }
}

function describe(controller: Type, kwargs: Type | undefined, names: Set<string>): void {
  const path = [Reflect.getMetadata(PATH_METADATA, controller) as string | string[]].flat()[0]!;
  Object.defineProperty(controller, 'name', { value: unique(nameOf(path), names) });
  if (!Reflect.hasMetadata(TAGS_METADATA, controller)) ApiTags(path)(controller);
  const prototype = controller.prototype as object;
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    operation(kwargs)(prototype, name, ownMethod(prototype, name));
  }
}

/** The controllers of all modules inherit their methods. What describes one endpoint must not describe the others. */
function ownMethod(prototype: object, name: string): PropertyDescriptor {
  const inherited = (
    Object.getPrototypeOf(prototype) as Record<string, (...parameters: unknown[]) => unknown>
  )[name]!;
  const own = {
    [name](this: unknown, ...parameters: unknown[]) {
      return inherited.apply(this, parameters);
    },
  }[name]!;
  for (const key of Reflect.getMetadataKeys(inherited) as string[]) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, inherited), own);
  }
  const descriptor = { value: own, writable: true, enumerable: false, configurable: true };
  Object.defineProperty(prototype, name, descriptor);
  return descriptor;
}

/** The name of the class, which begins the ids of operations: `agents/research` is `AgentsResearch`. */
function nameOf(path: string): string {
  const words = path.match(/[A-Za-z0-9]+/g) ?? ['query'];
  return words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}

function unique(name: string, names: Set<string>): string {
  let found = name;
  for (let number = 2; names.has(found); number++) found = `${name}${number}`;
  names.add(found);
  return found;
}
