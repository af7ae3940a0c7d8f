import type { ErrorObject, ValidateFunction } from 'ajv';
import type { FieldError, InputRequest } from 'nest-agent-query-client';

type Schema = NonNullable<InputRequest['schema']>;

/** The most faults that a caller is told. */
const FAULTS = 20;

/** Schemas of this draft, which many libraries make, say so. */
const DRAFT_7 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;

/**
 * Compiles a JSON Schema, draft 2020-12, or draft-07 if its `$schema` says so. Loaded when a handler asks for the first time.
 *
 * @throws Error the schema is not valid
 */
export async function schemaOf(schema: Schema): Promise<ValidateFunction> {
  const isDraft7 = typeof schema === 'object' && DRAFT_7.test(String(schema['$schema']));
  const [{ Ajv2020 }, { Ajv }, { default: formats }] = await Promise.all([
    import('ajv/dist/2020.js'),
    import('ajv'),
    import('ajv-formats'),
  ]);
  // One for each schema: it keeps all that it has compiled.
  const ajv = new (isDraft7 ? Ajv : Ajv2020)({
    strict: false,
    allErrors: true,
    logger: false,
    validateSchema: true,
  });
  formats.default(ajv);
  const validate = ajv.compile(schema);
  // It would return a promise, which counts as valid.
  if ('$async' in validate) throw new Error('"$async" is not a keyword of JSON Schema');
  return validate;
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
