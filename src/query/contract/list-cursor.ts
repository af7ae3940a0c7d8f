import { Buffer } from 'node:buffer';

/** Where a page of a list ends. What it means is known to the store that has returned it, and to no one else. */
export interface ListPosition {
  /** A whole number, from 0: the place in the order of the list. */
  at: number;
  /** Tells entries at the same place apart: up to 100 characters of `A-Z`, `a-z`, `0-9`, `-` and `_`. */
  key: string;
}

/** The position as callers get it: an opaque text. */
export function cursorText({ at, key }: ListPosition): string {
  return Buffer.from(`${at}.${key}`).toString('base64url');
}

/** Reads what `cursorText` has written. Undefined if the text is anything else. */
export function positionOf(cursor: string): ListPosition | undefined {
  const [, at, key] = /^(\d{1,15})\.([\w-]{0,100})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (at === undefined || key === undefined) return undefined;
  const position = { at: Number(at), key };
  return cursorText(position) === cursor ? position : undefined;
}
