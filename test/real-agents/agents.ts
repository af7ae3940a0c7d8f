/** An agent that is executed behind the service. `agents/<key>.mjs` says how. */
export interface RealAgent {
  key: string;
  name: string;
  /** The package whose version the table has. */
  packageName: string;
  /** Is installed and executed with `--all` or by its name only: it is large, or needs minutes. */
  isFurther?: boolean;
  /** When it asks, where what was set here, or a scripted model, decides it. */
  asks?: string;
}

export const AGENTS: readonly RealAgent[] = [
  { key: 'codex', name: 'Codex (codex-acp)', packageName: '@zed-industries/codex-acp-linux-x64' },
  { key: 'gemini', name: 'Gemini CLI', packageName: '@google/gemini-cli' },
  {
    key: 'claude',
    name: 'Claude Code (claude-agent-acp)',
    packageName: '@agentclientprotocol/claude-agent-acp',
    isFurther: true,
  },
  {
    key: 'claude-sdk',
    name: 'Claude Agent SDK',
    packageName: '@anthropic-ai/claude-agent-sdk',
    isFurther: true,
  },
  { key: 'copilot', name: 'Copilot CLI', packageName: '@github/copilot', isFurther: true },
  {
    key: 'opencode',
    name: 'OpenCode',
    packageName: 'opencode-linux-x64',
    isFurther: true,
    asks: 'if configured so',
  },
  {
    key: 'qwen',
    name: 'Qwen Code',
    packageName: '@qwen-code/qwen-code',
    isFurther: true,
    asks: 'in mode `default`',
  },
];
