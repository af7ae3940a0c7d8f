import type { FieldError } from 'nest-agent-query';
import { isObject } from '../../view/json.js';

type Json = Record<string, unknown>;

/**
 * Reads members of a request as ProtoJSON has them: null counts as absent, and so does an empty string. Every fault is kept, so that a
 * caller learns of all at once.
 */
export class Members {
  constructor(
    private readonly object: Json,
    private readonly pointer: string,
    private readonly faults: FieldError[],
  ) {}

  text(name: string, maxLength = Infinity): string | undefined {
    const value = this.#value(name);
    if (value === undefined || value === '') return undefined;
    if (typeof value === 'string' && value.length <= maxLength) return value;
    const length = maxLength === Infinity ? '' : ` of at most ${maxLength} characters`;
    return this.#fault(name, `must be a string${length}`);
  }

  flag(name: string): boolean | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === 'boolean') return value;
    // Parameters of a URL are texts.
    if (value === 'true' || value === 'false') return value === 'true';
    return this.#fault(name, 'must be true or false');
  }

  whole(name: string, [from, to]: readonly [number, number]): number | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    if (Number.isInteger(number) && Number(number) >= from && Number(number) <= to) return Number(number);
    const range = to === Number.MAX_SAFE_INTEGER ? `from ${from}` : `from ${from} to ${to}`;
    return this.#fault(name, `must be a whole number ${range}`);
  }

  json(name: string): Json | undefined {
    const value = this.#value(name);
    if (value === undefined || isObject(value)) return value;
    return this.#fault(name, 'must be an object');
  }

  /** A member that is an object, whose members are read in turn. */
  members(name: string): Members {
    return new Members(this.json(name) ?? {}, `${this.pointer}/${name}`, this.faults);
  }

  fault(name: string, detail: string): void {
    this.faults.push({ pointer: `${this.pointer}/${name}`, detail });
  }

  #value(name: string): unknown {
    return Object.hasOwn(this.object, name) ? (this.object[name] ?? undefined) : undefined;
  }

  #fault(name: string, detail: string): undefined {
    this.fault(name, detail);
    return undefined;
  }
}
