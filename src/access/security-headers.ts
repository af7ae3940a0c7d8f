import type { Server } from 'node:http';

/**
 * Adds the security headers of an API to every response of a server, also to those that no route of the application makes: what
 * the package `helmet` sets, with a strict content security policy. TLS is the task of the proxy, and so is
 * `Strict-Transport-Security`. A route may set another value.
 *
 * @param server the server of the application, `app.getHttpServer()`
 *
 * @example
 * await addSecurityHeaders(app.getHttpServer());
 */
export async function addSecurityHeaders(server: Server): Promise<void> {
  const { default: helmet } = await import('helmet');
  // A browser loads nothing on behalf of a response, and shows it in no frame.
  const setHeaders = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    strictTransportSecurity: false,
    xFrameOptions: { action: 'deny' },
  });
  server.prependListener('request', (request, response) => setHeaders(request, response, () => undefined));
}
