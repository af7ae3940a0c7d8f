import type { ErrorObject, ValidateFunction } from 'ajv';
import type { FieldError, InputRequest } from 'nest-agent-query-client';

type Schema = NonNullable<InputRequest['schema']>;

/** The most faults that a caller is told. */
const FAULTS = 20;

/**
 * Compiles a JSON Schema, draft 2020-12. Loaded when a handler asks for the first time.
 *
 * @throws Error the schema is not valid
 */
export async function schemaOf(schema: Schema): Promise<ValidateFunction> {
  const [{ Ajv2020 }, { default: formats }] = await Promise.all([
    import('ajv/dist/2020.js'),
    import('ajv-formats'),
  ]);
  // One for each schema: it keeps all that it has compiled.
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false, validateSchema: true });
  formats.default(ajv);
  return ajv.compile(schema);
}

/** What is wrong with a value, according to a schema. */
export async function schemaFaults(schema: Schema, value: unknown, pointer: string): Promise<FieldError[]> {
  const validate = await schemaOf(schema);
  if (validate(value)) return [];
  return validate.errors!.slice(0, FAULTS).map((error) => ({
    pointer: pointer + error.instancePath,
    detail: detailOf(error),
  }));
}

function detailOf({ keyword, message = 'is not valid', params }: ErrorObject): string {
  if (keyword === 'enum') return `must be one of ${JSON.stringify(params['allowedValues'])}`;
  if (keyword === 'const') return `must be ${JSON.stringify(params['allowedValue'])}`;
  return message;
}
