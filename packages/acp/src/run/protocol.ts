/** The messages of ACP 1, as far as a run reads them. Agents send more, and less: every member may be missing. */

export interface Initialized {
  protocolVersion?: number;
  agentInfo?: { name?: string; version?: string } | null;
  agentCapabilities?: {
    loadSession?: boolean;
    promptCapabilities?: { image?: boolean; audio?: boolean; embeddedContext?: boolean };
    sessionCapabilities?: { resume?: object | null; close?: object | null; delete?: object | null };
  };
  authMethods?: { id?: string; name?: string }[];
}

/** The answer of `session/new`, `session/load` and `session/resume`. */
export interface Opened {
  sessionId?: string;
  modes?: { currentModeId?: string; availableModes?: { id?: string }[] } | null;
}

export interface PermissionRequest {
  sessionId?: string;
  toolCall?: { toolCallId?: string; title?: string | null; kind?: string | null; rawInput?: unknown };
  options?: { optionId: string; name: string; kind: string }[];
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
