/**
 * The program of a process of the pool. It loads what answers requests only after it has arranged that no signal ends it: a
 * terminal and a service manager send these to all processes of the service, and only the service decides about its end.
 */
import process from 'node:process';

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
await import('./parser-loop.js');
