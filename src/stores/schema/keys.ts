import { hash } from 'node:crypto';

/** The key of an owner's name, such as a session id: a digest, so that it has a fixed length for any strings. */
export function keyOf(owner: string, name: string): string {
  return hash('sha256', JSON.stringify([owner, name]), 'base64url');
}

/** The key of an entry of the metadata of an owner's runs. */
export function entryKey(owner: string, [key, text]: [string, string]): string {
  return keyOf(owner, JSON.stringify([key, text]));
}

/** A number for an owner, for indexes: short, and seldom the same for two owners. WARNING: who looks for it also compares the owner. */
export function ownerHashOf(owner: string): number {
  return hash('sha256', JSON.stringify(owner), 'buffer').readUIntBE(0, 6);
}

/** Whether a string may be a SHA-256. Other strings are not looked up, because Postgres takes no NUL. */
export function isDigest(digest: string): boolean {
  return /^[0-9a-f]{64}$/.test(digest);
}
