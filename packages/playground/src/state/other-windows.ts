import type { Question } from './turn.js';

/** What windows tell each other of a session. */
export type Told =
  | { type: 'changed' }
  | { type: 'asked'; runId: string; question: Question }
  // What has become of a request of the run is in its log.
  | { type: 'resolved'; runId: string; request: string }
  // A window has been opened later, and wants to know what was asked; another one answers.
  | { type: 'wanted'; runId: string }
  | { type: 'known'; runId: string; question: Question };

interface News {
  /** The address of the endpoint. */
  endpoint: string;
  session: string;
  told: Told;
}

/** The windows of the same origin. Nothing leaves the browser. */
export class OtherWindows {
  readonly #channel = new BroadcastChannel('nest-agent-query');

  constructor(hear: (news: News) => void) {
    this.#channel.onmessage = ({ data }: MessageEvent<News>) => hear(data);
  }

  tell(news: News): void {
    this.#channel.postMessage(news);
  }
}
