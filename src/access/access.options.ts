import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type ApiKey, checkedKeys } from './keys/api-key.js';
import { type JwtOptions, type JwtSettings, jwtSettingsOf } from './jwt/jwt-options.js';
import { unknownMembers } from '../query/index.js';

/**
 * Which credentials give access. At least one member is needed; all may be used together. A member that is undefined counts as
 * absent.
 */
export interface AccessModuleOptions {
  /** The API keys. `apiKeysOf` reads them from a text such as an environment variable. */
  keys?: readonly ApiKey[] | undefined;
  /** The path of a file with API keys, one `name:sha256` or `name:sha256:2027-01-31` in each line. Changes of it are read. */
  keysFile?: string | undefined;
  /** Which tokens give access. */
  jwt?: JwtOptions | undefined;
}

/** The options, checked. */
export interface AccessSettings {
  keys: ApiKey[];
  keysFile: string | undefined;
  jwt: JwtSettings | undefined;
}

const MEMBERS: Record<keyof AccessModuleOptions, true> = { keys: true, keysFile: true, jwt: true };

/** @throws {TypeError} with a line for each fault; none contains a secret */
export function accessSettingsOf(options: AccessModuleOptions): AccessSettings {
  const faults = unknownMembers(options, MEMBERS);
  const { keys = [], keysFile, jwt } = options;
  // A module that refuses everybody is not what its author meant, and one that lets everybody pass must not exist.
  if (keys.length === 0 && keysFile === undefined && jwt === undefined)
    faults.push('no credential is configured. Set keys, keysFile or jwt.');
  if (keysFile !== undefined && (typeof keysFile !== 'string' || keysFile === ''))
    faults.push('keysFile must be the path of a file.');
  const settings = {
    keys: keysOf(keys, faults),
    keysFile,
    jwt: jwt && jwtSettingsOf(jwt, faults),
  };
  if (faults.length > 0) throw new TypeError(faults.map((fault) => `AccessModule: ${fault}`).join('\n'));
  return settings;
}

function keysOf(keys: readonly ApiKey[], faults: string[]): ApiKey[] {
  try {
    return checkedKeys(keys);
  } catch (error) {
    faults.push((error as Error).message);
    return [];
  }
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<AccessModuleOptions>({ moduleName: 'Access' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createAccessOptions')
    .build();
