import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Controller, Get, Header, VERSION_NEUTRAL } from '@nestjs/common';
import { CODE_FOLDER } from '../query/index.js';

const manifest = readFileSync(join(CODE_FOLDER, '../package.json'), 'utf8');
const { name, version } = JSON.parse(manifest) as Version;

/** What answers, and in which version. */
export interface Version {
  name: string;
  version: string;
}

/**
 * `GET /version` says which version of the package answers. The version of Node is not for everyone.
 *
 * @example
 * @Module({ controllers: [VersionController] })
 * class AppModule {}
 */
@Controller({ path: 'version', version: VERSION_NEUTRAL })
export class VersionController {
  @Get()
  @Header('Cache-Control', 'no-store')
  version(): Version {
    return { name, version };
  }
}
