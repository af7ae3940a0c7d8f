import { Controller, Get, Injectable, Res, type Type, VERSION_NEUTRAL } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { decorated } from '../../query/index.js';
import { Metrics } from './metrics.js';

/** Shows the metrics. It writes the response itself, so that no interceptor of the host changes the text. */
@Injectable()
export class MetricsController {
  constructor(
    private readonly metrics: Metrics,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  @Get()
  async show(@Res() response: unknown): Promise<void> {
    const text = await this.metrics.text();
    const { httpAdapter } = this.adapterHost;
    httpAdapter.setHeader(response, 'Content-Type', this.metrics.contentType);
    httpAdapter.setHeader(response, 'Cache-Control', 'no-store');
    httpAdapter.reply(response, text, 200);
  }
}

/** Returns a controller at a path, with the decorators of the host. Versions of the host do not move it. */
export function metricsControllerAt(path: string, decorators?: readonly ClassDecorator[]): Type {
  @Controller({ path, version: VERSION_NEUTRAL })
  class MountedMetricsController extends MetricsController {}
  return decorated('MetricsModule', MountedMetricsController, decorators);
}
