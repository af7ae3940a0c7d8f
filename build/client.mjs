import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const pathOf = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The licences of both packages require that their texts are kept with the code. */
const licences = ['../packages/client', '../node_modules/eventsource-parser'].map((folder) => {
  const { name, version } = JSON.parse(readFileSync(pathOf(`${folder}/package.json`), 'utf8'));
  return `${name} ${version}\n\n${readFileSync(pathOf(`${folder}/LICENSE`), 'utf8').trim()}`;
});

/** Builds the typed client as one file, with all that it imports, for pages without a bundler. */
await build({
  input: pathOf('../packages/client/dist/index.js'),
  platform: 'browser',
  output: {
    file: pathOf('../packages/client/dist/browser.js'),
    codeSplitting: false,
    minify: true,
    comments: { legal: true },
    postBanner: `/*!\n${licences.join('\n\n')}\n*/`,
  },
});
