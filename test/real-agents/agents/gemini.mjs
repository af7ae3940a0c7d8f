import process from 'node:process';

export const program = (url, installed) => ({
  command: [
    process.execPath,
    installed('@google/gemini-cli/bundle/gemini.js'),
    '--acp',
    '-m',
    'gemini-2.5-pro',
  ],
  env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'none' },
  authMethod: 'gemini-api-key',
});
