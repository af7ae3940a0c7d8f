import process from 'node:process';

export const program = (url, installed) => ({
  command: [process.execPath, installed('@agentclientprotocol/claude-agent-acp/dist/index.js')],
  env: {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_MAX_RETRIES: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  },
});
