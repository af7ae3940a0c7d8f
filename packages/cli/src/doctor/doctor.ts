import type { Command } from 'commander';
import { examine, jsonOfReport } from 'nest-agent-query-doctor';
import { StatusLine } from '../status-line.js';
import { type Look, textOfReport } from './report-text.js';
import { targetOf } from './target.js';

/** The options of the command, and those that hold for every command that asks a service. */
interface Options {
  url: string;
  agent?: string;
  path: string;
  key?: string;
  idle: number;
  body: number;
  json?: boolean;
}

/**
 * Examines the service that a command names, and prints the report.
 *
 * @param given the URL, if it is not that of the options
 * @returns the exit code
 */
export async function doctor(given: string | undefined, command: Command): Promise<number> {
  const { url, agent, path, key, ...options } = command.optsWithGlobals<Options>();
  const target = targetOf(given ?? url, path, key, agent);
  if (target.through) process.stderr.write(`All requests go through ${target.through.name}.\n`);
  const stopProgress = showProgress(options.idle);
  const report = await examine(target, options).finally(stopProgress);
  process.stdout.write(options.json ? jsonOfReport(report) : textOfReport(report, lookOf(process.stdout)));
  return report.exitCode;
}

function lookOf(output: typeof process.stdout): Look {
  if (!output.isTTY) return { isColoured: false, width: Infinity };
  return { isColoured: output.hasColors(), width: output.columns };
}

/** On a terminal, shows how long it still takes. Returns a function that removes it. */
function showProgress(idle: number): () => void {
  const line = new StatusLine(process.stderr);
  const start = performance.now();
  const show = () => {
    const passed = Math.floor((performance.now() - start) / 1_000);
    line.show(`Testing, for ${passed} of about ${Math.max(idle, 10)} s …`);
  };
  show();
  const timer = setInterval(show, 1_000);
  return () => {
    clearInterval(timer);
    line.close();
  };
}
