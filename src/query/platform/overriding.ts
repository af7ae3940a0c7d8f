/**
 * Returns an object that answers as another one does, except for some members. Methods are bound once: a call costs the same. Any
 * other member has the value that it has in the other object at present.
 */
export function overriding<T extends object>(object: T, members: Partial<T>): T {
  const result = {};
  for (let from: object = object; from !== Object.prototype; from = Object.getPrototypeOf(from) as object) {
    for (const name of Object.getOwnPropertyNames(from)) {
      if (Object.hasOwn(result, name)) continue;
      const member: unknown = Reflect.get(object, name);
      const isMethod = typeof member === 'function';
      const value = isMethod ? (member.bind(object) as unknown) : undefined;
      Object.defineProperty(result, name, {
        ...(isMethod ? { value, writable: true } : { get: () => Reflect.get(object, name) as unknown }),
        configurable: true,
        enumerable: true,
      });
    }
  }
  return Object.defineProperties(result, Object.getOwnPropertyDescriptors(members)) as T;
}
