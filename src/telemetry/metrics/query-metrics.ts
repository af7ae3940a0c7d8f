import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import {
  AgentService,
  type InputKind,
  type InputOutcome,
  type InputResolved,
  type RequestRefused,
  type RunAsked,
  type RunEnded,
  type RunListener,
  type RunStarted,
  Settings,
  settlesWithin,
  STATUS_OF_CODE,
  type StoreAnswered,
  type WebhookTried,
  type UsageAdded,
} from '../../query/index.js';
import { Metrics, type ModuleMetrics } from './metrics.js';

/** How long a scrape waits for the store. Without its answer, the other metrics are shown without those of it. */
const STORE_DEADLINE_MS = 1_000;

const STATUSES = ['completed', 'failed', 'cancelled'];
const KINDS: InputKind[] = ['approval', 'input', 'tool', 'auth'];
const OUTCOMES: InputOutcome[] = ['answered', 'declined', 'expired', 'superseded', 'cancelled'];

const RESULTS = ['waiting', 'delivered', 'failed'];

/** The label of codes and models that hosts and their handlers choose: there may be any number of them. */
const OTHER = 'other';

/** How many models have a label of their own: those that are used first. */
const MODELS = 20;

/**
 * Keeps the metrics of one query module: a listener. `MetricsModule` shows them.
 *
 * @example
 * @Module({ imports: [MetricsModule.forRoot(), QueryModule.forRoot({ handler: MyHandler, listeners: [QueryMetrics] })] })
 * class AppModule {}
 */
@Injectable()
export class QueryMetrics implements RunListener {
  readonly #metrics: ModuleMetrics;
  readonly #slots: number;
  readonly #models = new Set<string>();

  constructor(
    metrics: Metrics,
    { name, role, runs, webhooks }: Settings,
    private readonly moduleRef: ModuleRef,
  ) {
    this.#metrics = metrics.of(name, () => this.#refresh());
    this.#slots = role === 'api' ? 0 : runs.maxRunning;
    this.#showZeros(webhooks.endpoints.map((endpoint) => endpoint.name));
  }

  admitted(): void {
    this.#metrics.count('admitted');
  }

  repeated(): void {
    this.#metrics.count('repeated');
  }

  refused({ code }: RequestRefused): void {
    this.#metrics.count('refused', [labelOf(code)]);
  }

  started({ waitedMs }: RunStarted): void {
    this.#metrics.observe('wait', waitedMs);
  }

  ended({ status, errorCode, waitedMs, executedMs, firstEnvelopeMs }: RunEnded): void {
    this.#metrics.count('ended', [status]);
    if (errorCode !== undefined) this.#metrics.count('failed', [labelOf(errorCode)]);
    if (executedMs !== undefined) this.#metrics.observe('duration', executedMs, [status]);
    if (firstEnvelopeMs !== undefined) this.#metrics.observe('firstEvent', waitedMs + firstEnvelopeMs);
  }

  used({ usage }: UsageAdded): void {
    const { model = '', inputTokens, outputTokens, reasoningTokens = 0, cachedInputTokens = 0 } = usage;
    const tokens = {
      input: inputTokens,
      output: outputTokens,
      reasoning: reasoningTokens,
      cached_input: cachedInputTokens,
    };
    if (this.#models.size < MODELS) this.#models.add(model);
    const label = this.#models.has(model) ? model : OTHER;
    for (const [kind, count] of Object.entries(tokens)) this.#metrics.count('tokens', [label, kind], count);
  }

  asked({ kinds }: RunAsked): void {
    for (const kind of kinds) this.#metrics.count('asked', [kind]);
  }

  resolved({ kind, outcome, by, waitedMs }: InputResolved): void {
    this.#metrics.count('resolved', [kind, outcome]);
    if (by !== null) this.#metrics.observe('answer', waitedMs, [kind]);
  }

  webhookTried({ endpoint, status }: WebhookTried): void {
    this.#metrics.count('webhooks', [endpoint, status]);
  }

  storeAnswered({ operation, durationMs }: StoreAnswered): void {
    this.#metrics.observe('store', durationMs, [operation]);
  }

  /** A counter that appears with 1 has no rate: Prometheus does not see that it was 0. */
  #showZeros(endpoints: string[]): void {
    this.#metrics.count('admitted', [], 0);
    this.#metrics.count('repeated', [], 0);
    for (const status of STATUSES) this.#metrics.count('ended', [status], 0);
    for (const code of [...Object.keys(STATUS_OF_CODE), OTHER]) {
      this.#metrics.count('refused', [code], 0);
      this.#metrics.count('failed', [code], 0);
    }
    for (const endpoint of endpoints)
      for (const result of RESULTS) this.#metrics.count('webhooks', [endpoint, result], 0);
    for (const kind of KINDS) {
      this.#metrics.count('asked', [kind], 0);
      for (const outcome of OUTCOMES) this.#metrics.count('resolved', [kind, outcome], 0);
    }
  }

  async #refresh(): Promise<void> {
    // Not injected: the service of the module needs its listeners.
    const agent = this.moduleRef.get(AgentService);
    const load = agent.load();
    const totals = agent.totals();
    const spool = agent.spoolUse();
    for (const name of ['running', 'waiting', 'asking', 'overdue', 'followers'] as const)
      this.#metrics.set(name, load[name]);
    for (const name of ['envelopes', 'files', 'fileBytes'] as const)
      this.#metrics.setTotal(name, totals[name]);
    this.#metrics.setTotal('characters', totals.length);
    this.#metrics.set('slots', this.#slots);
    this.#metrics.set('signalsLate', agent.trouble() === undefined ? 0 : 1);
    this.#metrics.set('spoolFiles', spool.files);
    this.#metrics.set('spoolBytes', spool.bytes);
    const [logLength, openInputs] = await Promise.all([
      inTime(agent.logLength()),
      inTime(agent.inputs.count()),
    ]);
    this.#metrics.set('logLength', logLength);
    this.#metrics.set('openInputs', openInputs);
  }
}

/** What the store answers. Undefined while it does not. */
async function inTime(asked: Promise<number | undefined>): Promise<number | undefined> {
  let count: number | undefined;
  const answered = asked.then(
    (answer) => void (count = answer),
    () => undefined,
  );
  await settlesWithin(STORE_DEADLINE_MS, answered);
  return count;
}

function labelOf(code: string): string {
  return Object.hasOwn(STATUS_OF_CODE, code) ? code : OTHER;
}
