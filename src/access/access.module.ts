import { Global, Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { AccessFilter } from './access.filter.js';
import {
  type AccessModuleOptions,
  accessSettingsOf,
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN,
} from './access.options.js';
import { Authenticator } from './authenticator.js';

/**
 * Configures which credentials give access. `AccessGuard` checks them, where a host uses it.
 *
 * The application does not start (`TypeError`) if an option is unknown or faulty, no credential is configured, or the file of
 * keys cannot be read. No message contains a key or a secret.
 *
 * @example
 * @Module({
 *   imports: [
 *     AccessModule.forRoot({ keys: [{ name: 'ann', sha256: '3d2e…' }] }),
 *     QueryModule.forRoot({ handler: MyHandler, decorators: [UseGuards(AccessGuard)], owner: ownerOf }),
 *   ],
 * })
 * export class AppModule {}
 *
 * @example
 * AccessModule.forRootAsync({
 *   inject: [ConfigService],
 *   useFactory: (config: ConfigService) => ({ jwt: { jwksUrl: config.get('JWKS_URL'), audience: 'agents' } }),
 * })
 */
@Global()
@Module({
  providers: [
    {
      provide: Authenticator,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: (options: AccessModuleOptions) => Authenticator.open(accessSettingsOf(options)),
    },
    { provide: APP_FILTER, useClass: AccessFilter },
  ],
  exports: [Authenticator],
})
export class AccessModule extends ConfigurableModuleClass implements OnModuleDestroy {
  constructor(@Inject(Authenticator) private readonly authenticator: Authenticator) {
    super();
  }

  onModuleDestroy(): void {
    this.authenticator.close();
  }
}
