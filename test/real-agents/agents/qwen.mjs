import process from 'node:process';

export const program = (url, installed) => ({
  command: [process.execPath, installed('@qwen-code/qwen-code/cli.js'), '--acp', '--auth-type', 'openai'],
  env: { OPENAI_API_KEY: 'none', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'scripted' },
});
