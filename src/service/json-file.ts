import { readFile } from 'node:fs/promises';
import { ConfigurationError } from '../config/index.js';

/**
 * Reads a JSON file that a variable names. No sentence has a part of its contents, which may be secret.
 *
 * @param sentence what is wrong with the variable if the file is not valid
 * @param path of the file
 * @param faultsOf sentences about the value; none if it is valid
 * @throws {ConfigurationError} the file cannot be read, is no JSON, or has faults
 */
export async function readJsonFile<T>(
  sentence: string,
  path: string,
  faultsOf: (value: unknown) => string[],
): Promise<T> {
  const faulty = (sentences: string[]) => new ConfigurationError([sentence, ...sentences].join('\n'));
  const text = await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw faulty([`The file ${JSON.stringify(path)} cannot be read (${code}).`]);
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw faulty(['It is not valid JSON.']);
  }
  const faults = faultsOf(value);
  if (faults.length > 0) throw faulty(faults);
  return value as T;
}
