/** Faults of agents, in the version that is pinned, which no adapter can repair. */
export const FAULTS: Record<string, string> = {
  'Claude Code (claude-agent-acp)': 'each session is a process of 170 MB; a cut answer is said twice',
  'Claude Agent SDK': 'of the calls of a step, only one can wait for a person',
  'Codex (codex-acp)': 'a warning is a part of each answer; a declined call ends the answer',
  'Gemini CLI': 'loses a session that is loaded again',
  'Copilot CLI': 'errors of the model are texts; embedded files are lost',
  OpenCode: 'a cut answer is said twice',
  'Qwen Code': 'a cut answer is said twice',
};
