import { type CustomDecorator, SetMetadata } from '@nestjs/common';

export const PUBLIC_ROUTE = 'nest-agent-query:public-route';

/**
 * Lets `AccessGuard` leave a route or all routes of a controller alone: they need no credential.
 *
 * @example
 * @PublicRoute()
 * @Get('health/live')
 * live() {}
 *
 * @example
 * // A controller of a package:
 * PublicRoute()(HealthController);
 */
export const PublicRoute = (): CustomDecorator => SetMetadata(PUBLIC_ROUTE, true);
