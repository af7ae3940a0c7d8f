import type { ValidationError } from 'class-validator';
import type { FieldError } from 'nest-agent-query-client';

export function faultsOf(errors: ValidationError[], parent: string): FieldError[] {
  return errors.flatMap(({ property, constraints, children }) => {
    // A value without rules is a fault of the object itself.
    const pointer = property === undefined ? parent : `${parent}/${escaped(property)}`;
    const own = Object.values(constraints ?? {}).map((text) => ({
      pointer,
      detail: detailOf(text, property),
    }));
    return [...own, ...faultsOf(children ?? [], pointer)];
  });
}

/** The messages of class-validator begin with the name of the property, which the pointer says already. */
function detailOf(text: string, property: string | undefined): string {
  const subject = [`${property} `, `nested property ${property} `].find((begin) => text.startsWith(begin));
  return subject === undefined ? text : text.slice(subject.length);
}

function escaped(property: string): string {
  return property.replaceAll('~', '~0').replaceAll('/', '~1');
}
