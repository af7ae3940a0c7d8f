import { createHash } from 'node:crypto';

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The SHA-256 of a value's JSON, as 64 hexadecimal digits. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

/** A JSON Pointer as other protocols write it: `input[0].content[1].image_url`. */
export function paramOf(pointer: string): string {
  const names = pointer.split('/').slice(1);
  return names
    .map((name) =>
      /^\d+$/.test(name) ? `[${name}]` : `.${name.replaceAll('~1', '/').replaceAll('~0', '~')}`,
    )
    .join('')
    .replace(/^\./, '');
}
