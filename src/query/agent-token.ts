import { Inject, type InjectionToken } from '@nestjs/common';
import { AgentService } from './runs/agent.service.js';

/**
 * The injection token of the `AgentService` of a module.
 *
 * @param name the name of the module; absent for the module without a name
 *
 * @example
 * const agent = app.get<AgentService>(getAgentToken('research'), { strict: false });
 */
export function getAgentToken(name?: string): InjectionToken<AgentService> {
  return name === undefined ? AgentService : `AgentService:${name}`;
}

/**
 * Injects the `AgentService` of a module.
 *
 * @param name the name of the module; absent for the module without a name
 *
 * @example
 * class ReportService {
 *   constructor(@InjectAgent('research') private readonly agent: AgentService) {}
 * }
 */
export function InjectAgent(name?: string): ParameterDecorator & PropertyDecorator {
  return Inject(getAgentToken(name));
}
