import { codeBlocks } from './documents.js';
import { TLS_FILE } from './faulty-proxy.js';
import {
  apacheWith,
  lighttpdWith,
  NGINX_DIRECTORIES,
  type ProxyProgram,
  type RealProxy,
  squidWith,
  startProxy,
} from './real-proxies.js';

const RECIPES = 'docs/deployment.md';

/** The programs whose recipe is a whole file, and the language of that file in the documents. */
const LANGUAGES = {
  nginx: 'nginx',
  caddy: 'caddyfile',
  haproxy: 'haproxy',
  apache: 'apache',
  lighttpd: 'lighttpd',
  varnish: 'vcl',
  squid: 'squid',
} satisfies Partial<Record<ProxyProgram, string>>;

export type RecipeProgram = keyof typeof LANGUAGES;

/** What the documents tell to write for a program. */
export function recipeOf(program: RecipeProgram): string {
  return codeBlocks(RECIPES).find(({ language }) => language === LANGUAGES[program])!.code;
}

/** The address on which a recipe listens. */
const LISTENING = {
  nginx: /(?<=listen )443/,
  caddy: /agent\.example\.com/,
  haproxy: /(?<=bind ):443/,
  apache: /(?<=<VirtualHost )\*:443/,
  lighttpd: /(?<=")\*?:443/,
  varnish: /$^/,
  squid: /(?<=http_port )80/,
} satisfies Record<RecipeProgram, RegExp>;

/** Those that take TLS themselves in their recipe. Caddy does too, with a certificate of its own making. */
const WITH_TLS: readonly RecipeProgram[] = ['nginx', 'haproxy', 'apache', 'lighttpd'];

/**
 * Starts a proxy with the whole recipe of the documents. Only its addresses and the paths of its certificate are those of the
 * test.
 *
 * @param change what the test changes in it
 */
export function startRecipe(
  program: RecipeProgram,
  service: string,
  change = (recipe: string) => recipe,
): Promise<RealProxy> {
  const { host, port: servicePort } = new URL(service);
  const adapted = (port: number) =>
    change(recipeOf(program))
      .replace(/\/etc\/\S+\.pem/g, TLS_FILE)
      .replace(/(?:127\.0\.0\.1|10\.0\.0\.1[12]):3000/g, host)
      .replace(/(127\.0\.0\.1\D+)3000/, `$1${servicePort}`)
      // After the addresses of the service, because a free port may begin with 3000.
      .replace(LISTENING[program], `${program === 'caddy' ? 'http://' : ''}127.0.0.1:${port}`)
      .replaceAll('agent.example.com', '127.0.0.1');
  return startProxy(program, (port, directory) => AROUND[program](adapted(port), port, directory), {
    scheme: WITH_TLS.includes(program) ? 'https' : 'http',
  });
}

type Around = (recipe: string, port: number, directory: string) => string;

/** What is around the recipe where a package of Debian includes it. */
const AROUND: Record<RecipeProgram, Around> = {
  nginx: (recipe) => `
daemon off; master_process off; pid nginx.pid; error_log stderr crit;
events { worker_connections 256; }
http { access_log off; ${NGINX_DIRECTORIES}
${recipe} }`,
  // A Caddy that is there already has the port for administration.
  caddy: (recipe) => `{\n\tadmin off\n}\n${recipe}`,
  haproxy: (recipe) => recipe,
  apache: apacheWith,
  lighttpd: lighttpdWith,
  varnish: (recipe) => recipe,
  squid: (recipe, _port, directory) => squidWith(recipe, directory),
};
