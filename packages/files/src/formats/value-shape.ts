import { JsonShape } from './json-shape.js';

/** Values of one file that are looked at, at most. */
const VALUES = 1_000_000;

/** The shape of values as that of JSON: one indented line for each key. */
export function shapeOf(values: unknown[]): string {
  const shape = new JsonShape();
  const left = { values: VALUES };
  for (const value of values) add(shape, value, left);
  shape.closeAll();
  return shape.toString();
}

function add(shape: JsonShape, value: unknown, left: { values: number }): void {
  left.values -= 1;
  if (left.values <= 0) return shape.scalar('null');
  if (!Array.isArray(value) && !isRecord(value)) return shape.scalar(typeOf(value));
  shape.open(Array.isArray(value));
  for (const [key, item] of Object.entries(value)) {
    if (!Array.isArray(value)) shape.key(key);
    add(shape, item, left);
  }
  shape.close(0);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !(value instanceof Date) && !(value instanceof Uint8Array)
  );
}

/** The type of a value in words of JSON. */
export function typeOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'number' || typeof value === 'bigint')
    return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value === 'boolean' ? 'boolean' : 'string';
}
