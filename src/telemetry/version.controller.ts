import { createRequire } from 'node:module';
import { Controller, Get } from '@nestjs/common';

const { name, version } = createRequire(import.meta.url)('../../package.json') as Version;

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
@Controller('version')
export class VersionController {
  @Get()
  version(): Version {
    return { name, version };
  }
}
