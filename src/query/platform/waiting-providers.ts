import { setImmediate } from 'node:timers/promises';
import type { Type } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';

/**
 * Refuses providers that wait for each other. Nest 11 finds a circle of two. With a longer one, the process ends without a word.
 *
 * @param mark a token that only the module of the provider has
 * @param type a provider that waits for each such circle, or is in it
 * @throws {Error} names the providers
 */
export async function refuseCircle(modules: ModulesContainer, mark: symbol, type: Type): Promise<void> {
  // By then Nest knows what each provider needs.
  await setImmediate();
  const module = [...modules.values()].find((each) => each.hasProvider(mark))!;
  visit(module.getProviderByKey(type), [], new Set());
}

function visit(needing: InstanceWrapper, path: InstanceWrapper[], seen: Set<InstanceWrapper>): void {
  if (path.includes(needing)) {
    const circle = [...path.slice(path.indexOf(needing)), needing].map(({ name }) => String(name));
    throw new Error(
      `QueryModule: these providers wait for each other: ${circle.join(' → ')}. What its factory and its listeners inject must ` +
        'not inject AgentService. Inject ModuleRef, and call get(AgentService, { strict: false }) when it is used.',
    );
  }
  // A provider that was made waits for nothing, and nothing waits for one with a `forwardRef`.
  if (seen.has(needing) || needing.initTime !== undefined || needing.forwardRef) return;
  seen.add(needing);
  const parameters = needing.getCtorMetadata() ?? [];
  const properties = needing.getPropertiesMetadata() ?? [];
  for (const needed of [...parameters, ...properties.map(({ wrapper }) => wrapper)])
    if (needed) visit(needed, [...path, needing], seen);
}
