import type { Type } from '@nestjs/common';
import { getMetadataStorage, validate } from 'class-validator';
import type { FieldError } from 'nest-agent-query-client';
import { faultsOf, invalidQuery, pointerTo } from '../contract/refusals.js';
import type { Query } from '../ports/agent-handler.js';
import { shown } from './table.js';

/**
 * The kwargs of queries as instances of a class of the host. A key that has a decorator of class-validator on the class is
 * transformed and validated. Every other key is passed on unchanged, `session_id` too.
 */
export class TypedKwargs<K extends object = object> {
  /** The properties of the class that have a decorator. */
  readonly #named: ReadonlySet<string>;
  /** The instances of kwargs that are valid, so that a query is validated once, however many layers ask. */
  readonly #instances = new WeakMap<object, K>();

  /** @throws {TypeError} it is no class, or none of its properties has a decorator of class-validator */
  constructor(readonly type: Type<K>) {
    if (typeof type !== 'function') throw new TypeError(`kwargs is ${shown(type)}; it must be a class.`);
    const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    this.#named = new Set(rules.map(({ propertyName }) => propertyName));
    if (this.#named.size === 0) {
      throw new TypeError(
        `kwargs is the class ${type.name}, of which no property has a decorator of class-validator.`,
      );
    }
  }

  /** Every fault of kwargs, with pointers that begin with `/kwargs`. What a transformation of the class throws is thrown. */
  async faultsOf(kwargs: object): Promise<FieldError[]> {
    if (this.#instances.has(kwargs)) return [];
    const entries = Object.entries(kwargs);
    const named = Object.fromEntries(entries.filter(([key]) => this.#named.has(key)));
    const faults = Object.entries(named).flatMap(([key, value]) =>
      faultsOfNames(value, pointerTo('/kwargs', key)),
    );
    if (faults.length > 0) return faults;
    // Most services have no such class, and start faster without this package.
    const { plainToInstance } = await import('class-transformer');
    const instance = plainToInstance(this.type, named);
    const errors = await validate(instance);
    if (errors.length > 0) return faultsOf(errors, '/kwargs');
    for (const [key, value] of entries) if (!this.#named.has(key)) define(instance, key, value);
    this.#instances.set(kwargs, instance);
    return [];
  }

  /**
   * The query as its handler receives it. The given one keeps what the caller sent: a store keeps that, so it is never
   * transformed twice.
   *
   * @throws {QueryError} `invalid_query` with every fault and its pointer
   */
  async typed(query: Query): Promise<Query<K>> {
    const faults = await this.faultsOf(query.kwargs);
    if (faults.length > 0) throw invalidQuery(faults);
    return { ...query, kwargs: this.#instances.get(query.kwargs)! };
  }
}

/** class-transformer would take such a member for the class of its object, or leave it out. */
function faultsOfNames(value: unknown, pointer: string): FieldError[] {
  if (typeof value !== 'object' || value === null) return [];
  const detail = 'has a name that no member of such a value can have: send another name';
  return Object.entries(value).flatMap(([name, member]) => {
    const at = pointerTo(pointer, name);
    const isClass = !Array.isArray(value) && (name === 'constructor' || name === '__proto__');
    return isClass ? [{ pointer: at, detail }] : faultsOfNames(member, at);
  });
}

/** An assignment would call the setter of `__proto__`. */
function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}
