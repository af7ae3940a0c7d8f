/**
 * Copies the members of a body that a DTO has, as they are. class-transformer would take a member "constructor" inside one of them for
 * the class of that value.
 *
 * @param names of the members; those that the body does not have stay as they are in the DTO
 */
export function withMembers<T extends object>(dto: T, body: object, names: readonly (keyof T & string)[]): T {
  for (const name of names) if (Object.hasOwn(body, name)) dto[name] = (body as T)[name];
  return dto;
}
