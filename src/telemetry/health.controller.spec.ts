import { jest } from '@jest/globals';
import { Logger, ServiceUnavailableException } from '@nestjs/common';
import { type AgentService, QueryError } from '../query/index.js';
import { HealthController } from './health.controller.js';

describe('The readiness check', () => {
  const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);

  beforeEach(() => logged.mockClear());
  afterAll(() => logged.mockRestore());

  /** A controller of a service whose own check has this outcome. */
  function controllerOf(check: () => Promise<void>, warning?: string): HealthController {
    const trouble = () => warning;
    return new HealthController({ check, trouble } as Partial<AgentService> as AgentService);
  }

  async function refusal(error: unknown): Promise<ServiceUnavailableException> {
    const refused: unknown = await controllerOf(() => Promise.reject(error as Error))
      .ready()
      .catch((thrown: unknown) => thrown);
    if (refused instanceof ServiceUnavailableException) return refused;
    throw new Error('The service was not refused with 503.');
  }

  it('is 200 while the service accepts queries', async () => {
    expect(await controllerOf(() => Promise.resolve()).ready()).toEqual({ status: 'ready' });
  });

  it('is 200 while something is wrong that costs no query, and says what', async () => {
    expect(await controllerOf(() => Promise.resolve(), 'Signals do not arrive.').ready()).toEqual({
      status: 'ready',
      detail: 'Signals do not arrive.',
    });
  });

  it('is 503 with the code and the sentence of a QueryError', async () => {
    const refused = await refusal(new QueryError('unavailable', 'The database is not available.'));
    expect(refused.getStatus()).toBe(503);
    expect(refused.getResponse()).toEqual({
      status: 'not ready',
      code: 'unavailable',
      detail: 'The database is not available.',
    });
    expect(logged).not.toHaveBeenCalled();
  });

  it.each([
    ['an error', new TypeError('connect ECONNREFUSED /var/run/secret')],
    ['a value that is not an error', 'connect ECONNREFUSED /var/run/secret'],
  ])('is 503 without the text of %s that is unexpected, and logs it', async (_, error) => {
    const refused = await refusal(error);
    expect(refused.getStatus()).toBe(503);
    expect(refused.getResponse()).toEqual({
      status: 'not ready',
      code: 'internal',
      detail: 'The service failed, and has logged the cause.',
    });
    expect(logged.mock.calls).toEqual([
      [
        'The readiness check failed with an unexpected error.',
        expect.stringContaining('connect ECONNREFUSED /var/run/secret'),
      ],
    ]);
  });
});
