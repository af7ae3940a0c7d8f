import type { AgentHandler } from 'nest-agent-query';
import { type AcpOptions, acpSettings } from './acp-options.js';

export function fromAcp(options: AcpOptions): AgentHandler {
  acpSettings(options);
  throw new Error('Not written yet.');
}
