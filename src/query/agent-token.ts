import { Inject, type InjectionToken } from '@nestjs/common';
import { AgentService } from './runs/agent.service.js';

/**
 * The injection token of the `AgentService` of the module with a name; or, without `name`, of the module without one.
 *
 * @example
 * const agent = app.get<AgentService>(getAgentToken('research'), { strict: false });
 */
export function getAgentToken(name?: string): InjectionToken<AgentService> {
  return name === undefined ? AgentService : `AgentService:${name}`;
}

/**
 * Injects the `AgentService` of the module with a name; or, without `name`, of the module without one.
 *
 * @example
 * class ReportService {
 *   constructor(@InjectAgent('research') private readonly agent: AgentService) {}
 * }
 */
export function InjectAgent(name?: string): ParameterDecorator & PropertyDecorator {
  return Inject(getAgentToken(name));
}
