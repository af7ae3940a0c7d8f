/** With an endpoint of one's own, no account at GitHub is needed. */
export const program = (url, installed) => ({
  command: [installed('@github/copilot-linux-x64/copilot'), '--acp', '--no-auto-update'],
  env: {
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    COPILOT_PROVIDER_TYPE: 'openai',
    COPILOT_PROVIDER_API_KEY: 'none',
    COPILOT_MODEL: 'scripted',
    COPILOT_OFFLINE: 'true',
  },
  mode: 'https://agentclientprotocol.com/protocol/session-modes#agent',
});
