import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

/**
 * Builds the HTTP adapter of the standalone service, with Fastify, into `dist/fastify`. As a dependency or a peer, npm
 * would warn of it, or refuse it, in hosts with another version of Nest.
 */
await build({
  input: fileURLToPath(new URL('adapter.mjs', import.meta.url)),
  platform: 'node',
  // The agents of the service share these. What the adapter takes from `@nestjs/common/internal` does not exist in Nest 11.
  external: ['@nestjs/common', '@nestjs/core', /^rxjs/, /^@fastify\/(multipart|static|view)$/],
  treeshake: { moduleSideEffects: (id) => !/@nestjs.(common|core)/.test(id) },
  plugins: [{ name: 'licences', generateBundle: addLicences }],
  output: {
    file: fileURLToPath(new URL('../dist/fastify/adapter.js', import.meta.url)),
    codeSplitting: false,
    comments: { legal: true },
  },
});

/** The licences of the packages require that their texts are kept with the code. */
function addLicences(_options, bundle) {
  const modules = Object.values(bundle).flatMap(({ moduleIds = [] }) => moduleIds);
  const folders = new Set(modules.flatMap((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []));
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    return `${name} ${version}: ${license}\n${text}`;
  });
  const source = texts.join(`\n${'-'.repeat(80)}\n\n`);
  this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source });
}
