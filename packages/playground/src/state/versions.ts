/*
 * A version of a conversation is a fork of it: a session that begins with its first turns. The id of a version says where it comes
 * from: the id of that session, `~`, the number of the turn that is another one, `.` and when it was made.
 */
const VERSION = /^(.+)~(\d+)\.\w+$/s;

/**
 * The id of a new version. Where an origin has the same turns before, it is named after that: ids do not grow with each edit.
 *
 * @param turn the number of the first turn that is another one, from 1
 */
export function newVersionOf(id: string, turn: number): string {
  const parent = parentOf(id);
  if (parent && parent.turn >= turn) return newVersionOf(parent.id, turn);
  return `${id}~${turn}.${Date.now().toString(36)}`;
}

/** The id of the session that all versions come from. */
export function rootOf(id: string): string {
  const parent = parentOf(id);
  return parent ? rootOf(parent.id) : id;
}

/** The first turn that two versions of a conversation do not share; undefined if they are the same. */
export function firstOther(one: string, two: string): number | undefined {
  if (one === two) return undefined;
  // The longer id is no origin of the other.
  const [longer, other] = one.length >= two.length ? [one, two] : [two, one];
  const { id, turn } = parentOf(longer)!;
  return Math.min(turn, firstOther(id, other) ?? turn);
}

/**
 * The versions of one turn of a conversation, in the order in which they were made. Of the sessions that share a version of the
 * turn, each is represented by the first.
 *
 * @param id of the session that is shown; it represents its own version
 * @param turn the number of the turn, from 1
 * @param ids the sessions that there are
 */
export function versionsOf(id: string, turn: number, ids: readonly string[]): string[] {
  const versions = [id];
  for (const other of ids) {
    if (rootOf(other) !== rootOf(id) || firstOther(id, other) !== turn) continue;
    if (versions.every((known) => firstOther(known, other) === turn)) versions.push(other);
  }
  return versions.sort((one, two) => madeAt(one, turn).localeCompare(madeAt(two, turn)));
}

/** When a version of a turn was made, as text that can be compared; empty for the first. */
function madeAt(id: string, turn: number): string {
  const parent = parentOf(id);
  if (!parent) return '';
  return parent.turn === turn ? id.slice(id.lastIndexOf('.')) : madeAt(parent.id, turn);
}

function parentOf(version: string): { id: string; turn: number } | undefined {
  const [, id, turn] = VERSION.exec(version) ?? [];
  return id === undefined ? undefined : { id, turn: Number(turn) };
}
