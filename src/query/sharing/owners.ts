/** Begins and ends the name of a module in an owner. The names of modules do not contain it. */
const MARK = '\u0000';

/** What the owner of a run says: the module that has admitted it, and whose run it is there. */
export interface OwnerOfModule {
  /** The name of the module; empty for the module without a name. */
  module: string;
  owner: string;
}

/**
 * The owner of a module as the store has it. Two modules never have the same one, whatever strings their owners are, so that
 * modules that share a store never see each other's runs, sessions and idempotency keys. The module without a name leaves its
 * owners as they are, unless they look like those of another module.
 */
export function storedOwner(module: string | undefined, owner: string): string {
  return !module && !owner.startsWith(MARK) ? owner : `${MARK}${module ?? ''}${MARK}${owner}`;
}

/** The reverse of `storedOwner`. */
export function ownerOfModule(stored: string): OwnerOfModule {
  const end = stored.startsWith(MARK) ? stored.indexOf(MARK, 1) : -1;
  if (end < 0) return { module: '', owner: stored };
  return { module: stored.slice(1, end), owner: stored.slice(end + 1) };
}
