import { JsonShape, Token } from './json-shape.js';

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
  if (left.values <= 0) return shape.add(Token.Null, null);
  if (Array.isArray(value)) {
    shape.add(Token.LeftBracket, undefined);
    value.forEach((item, index) => {
      if (index > 0) shape.add(Token.Comma, undefined);
      add(shape, item, left);
    });
    shape.add(Token.RightBracket, undefined);
  } else if (isRecord(value)) {
    shape.add(Token.LeftBrace, undefined);
    Object.entries(value).forEach(([key, field], index) => {
      if (index > 0) shape.add(Token.Comma, undefined);
      shape.add(Token.String, key);
      shape.add(Token.Colon, undefined);
      add(shape, field, left);
    });
    shape.add(Token.RightBrace, undefined);
  } else shape.add(tokenOf(value), value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !(value instanceof Date) && !(value instanceof Uint8Array)
  );
}

function tokenOf(value: unknown): Token {
  if (value === null || value === undefined) return Token.Null;
  if (typeof value === 'number' || typeof value === 'bigint') return Token.Number;
  return typeof value === 'boolean' ? Token.True : Token.String;
}
