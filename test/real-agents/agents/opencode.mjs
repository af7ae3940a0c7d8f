/** It asks only if its configuration says so, and fetches nothing with these variables. */
export const program = (url, installed) => ({
  command: [installed('opencode-linux-x64/bin/opencode'), 'acp'],
  env: {
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      provider: {
        scripted: {
          npm: '@ai-sdk/openai-compatible',
          name: 'scripted',
          options: { baseURL: `${url}/v1`, apiKey: 'none' },
          models: { scripted: { name: 'scripted' } },
        },
      },
      model: 'scripted/scripted',
      small_model: 'scripted/scripted',
      autoupdate: false,
      share: 'disabled',
      permission: { edit: 'ask', bash: 'ask' },
    }),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  },
});
