import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';

/* What models of the document consist of. */

/** A member of a model: its schema, and whether it may be absent. */
export type Member = ApiPropertyOptions;

/** Makes a model of its members: `@nestjs/swagger` takes a class, and reads the decorators of its members. */
export function model(name: string, members: Record<string, Member>): Type {
  const type = { [name]: class {} }[name]!;
  const prototype = type.prototype;
  for (const [member, schema] of Object.entries(members)) {
    // What the compiler writes for a member of a class: without it, a schema of any value is taken for a cycle.
    Reflect.defineMetadata('design:type', Object, prototype, member);
    ApiProperty(schema)(prototype, member);
  }
  return type;
}

/** The schema of a union that a member tells apart. */
export function unionOf(member: string, models: Record<string, Type>) {
  const mapping = Object.fromEntries(
    Object.entries(models).map(([value, type]) => [value, getSchemaPath(type)]),
  );
  return {
    oneOf: Object.values(mapping).map(($ref) => ({ $ref })),
    discriminator: { propertyName: member, mapping },
  };
}

export const text = (description?: string) =>
  ({ type: 'string', ...(description && { description }) }) as const;
export const count = (description: string) => ({ type: 'integer', minimum: 0, description }) as const;
export const time = (description: string) => ({ type: 'string', format: 'date-time', description }) as const;
export const orNull = <T extends object>(schema: T) => ({ ...schema, nullable: true }) as const;
export const optional = <T extends object>(schema: T) => ({ ...schema, required: false }) as const;
export const digest = (description?: string) =>
  ({ ...text(description), pattern: '^[0-9a-f]{64}$' }) as const;
export const present = (description: string) => ({ type: 'boolean', enum: [true], description }) as const;

/** What a run may be. */
export const RUN_STATUSES = ['waiting', 'running', 'input_required', 'completed', 'failed', 'cancelled'];
