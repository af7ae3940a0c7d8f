/** How many letters the beginnings of two names must have in common, so that one may be meant by the other. */
const LEAST_COMMON = 3;

/**
 * Says which members of an object are no options: a sentence for each, with the option that may be meant. A member that is undefined
 * counts as absent.
 *
 * @param given what a host or a handler has passed; it may be absent
 * @param known an object that has every option as a member
 * @param name what the sentences call the object, such as `runs`. Default: nothing
 */
export function unknownMembers(given: object | undefined, known: object, name = ''): string[] {
  const faults: string[] = [];
  const prefix = name === '' ? '' : `${name}.`;
  for (const member of Object.keys(given ?? {})) {
    if (Object.hasOwn(known, member) || given![member as keyof object] === undefined) continue;
    const meant = meantBy(member, Object.keys(known));
    const hint = meant === undefined ? '' : ` Did you mean ${prefix}${meant}?`;
    faults.push(`${prefix}${member} is not an option.${hint}`);
  }
  return faults;
}

/**
 * Refuses an object with a member that is no option, because it would have no effect.
 *
 * @param caller what the object was passed to, for the message
 * @param given what was passed; it may be absent
 * @param known an object that has every option as a member
 * @throws {TypeError} a member is no option: the message names it, and the option that may be meant
 *
 * @example
 * refuseUnknown('myHandler', { timeout: 5 }, { timeoutMs: true }); // myHandler: timeout is not an option. Did you mean timeoutMs?
 */
export function refuseUnknown(caller: string, given: object | undefined, known: object): void {
  if (given === undefined) return;
  const faults = unknownMembers(given, known);
  if (faults.length > 0) throw new TypeError(`${caller}: ${faults.join(' ')}`);
}

/** The name that begins most like another one, if the shorter of both agrees with the other by half. */
function meantBy(name: string, known: string[]): string | undefined {
  const common = (other: string) => {
    const [one, two] = [name.toLowerCase(), other.toLowerCase()];
    let length = 0;
    while (length < one.length && one[length] === two[length]) length++;
    return length;
  };
  const [first] = known.toSorted((a, b) => common(b) - common(a) || a.length - b.length);
  const least = Math.max(LEAST_COMMON, Math.min(name.length, first?.length ?? 0) / 2);
  return first !== undefined && common(first) >= least ? first : undefined;
}
