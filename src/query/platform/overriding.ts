/** Returns an object that answers as another one does, except for some members. Methods are bound once: a call costs the same. */
export function overriding<T extends object>(object: T, members: Partial<T>): T {
  const result: Record<string, unknown> = {};
  for (let from: object = object; from !== Object.prototype; from = Object.getPrototypeOf(from) as object) {
    for (const name of Object.getOwnPropertyNames(from)) {
      const member: unknown = Reflect.get(object, name);
      result[name] ??= typeof member === 'function' ? (member.bind(object) as unknown) : member;
    }
  }
  return Object.assign(result, members) as T;
}
