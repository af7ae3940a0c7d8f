/**
 * The thread that checks values against JSON Schemas, draft 2020-12, or draft-07 if `$schema` says so. It is a thread because a
 * check may take very long: ending the thread is the only way to end a regular expression.
 *
 * A message to the thread is the JSON of `[schema, value]`; without a value only the schema is checked. The message from it is a
 * `Checked`. Its first message says that it is ready. The file is JavaScript, so that Node can start it from the sources too.
 */
import { parentPort } from 'node:worker_threads';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/** The most faults that a caller is told. */
const FAULTS = 20;

/** Up to so many characters of JSON, all faults of a value are looked for; of a longer one the first. */
const SHORT = 4 * 1024;

/** Schemas of this draft, which many libraries make, say so. */
const DRAFT_7 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;

const drafts = new Map();

/** @returns {import('./schema-checks.js').Checked} */
function check(schema, value) {
  try {
    const isShort = value !== undefined && JSON.stringify(value).length <= SHORT;
    const Version = DRAFT_7.test(String(schema['$schema'])) ? Ajv : Ajv2020;
    // The schema of an answer was checked when it was asked.
    if (value === undefined) draftOf(Version).validateSchema(schema, true);
    // One for each schema: it keeps all that it has compiled.
    const ajv = ajvOf(Version, { allErrors: isShort, validateSchema: false });
    const validate = ajv.compile(schema);
    // It would return a promise, which counts as valid.
    if ('$async' in validate) throw new Error('"$async" is not a keyword of JSON Schema');
    if (value === undefined || validate(value)) return { faults: [] };
    return { faults: validate.errors.slice(0, FAULTS).map(faultOf) };
  } catch (error) {
    return { invalid: error.message, faults: [{ pointer: '', detail: 'cannot be checked' }] };
  }
}

function ajvOf(Version, options) {
  const ajv = new Version({ strict: false, logger: false, ...options });
  formats.default(ajv);
  return ajv;
}

/** What checks schemas of a draft. It is kept, because it takes longer to compile the draft than to check a schema. */
function draftOf(Version) {
  if (!drafts.has(Version)) drafts.set(Version, ajvOf(Version));
  return drafts.get(Version);
}

function faultOf({ instancePath, keyword, message = 'is not valid', params }) {
  const detail = { enum: 'must be one of ', const: 'must be ' }[keyword];
  const allowed = params.allowedValues ?? params.allowedValue;
  return { pointer: instancePath, detail: detail ? detail + JSON.stringify(allowed) : message };
}

parentPort.on('message', (given) => parentPort.postMessage(check(...JSON.parse(given))));
parentPort.postMessage('ready');
