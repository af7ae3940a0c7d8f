import type {
  Envelope,
  FileEnvelope,
  MessageEnvelope,
  ResultEnvelope,
  SourceEnvelope,
} from 'nest-agent-query';
import { chunkOf, EventForm } from '../../view/event-form.js';

/** What has become of an artifact. */
export interface ArtifactChange {
  /** The artifact with its new parts, or with all of them, as JSON. */
  artifact: string;
  /** The parts follow those that were told before; otherwise they replace them. */
  append: boolean;
  /** Nothing more is appended. Of a text that is not known. */
  isLast: boolean;
}

interface KeptArtifact {
  artifactId: string;
  name: string | undefined;
  isText: boolean;
  /** JSON, with the number of the envelope. Of a text: what is between the quotes. */
  parts: { seq: number; json: string }[];
}

/** What nothing is left of: an artifact must have a part. */
const EMPTY = '{"text":""}';

/** The artifacts of a log, and what becomes of them envelope by envelope. */
export class Artifacts {
  #all: KeptArtifact[] = [];
  /** The text that chunks are appended to, and the `id` of its messages. */
  #open: { artifact: KeptArtifact; id: string | undefined } | undefined;

  /** @param origin of the URLs of files, such as `https://agents.example.com` */
  constructor(private readonly origin: string) {}

  /** Those that have content, with all their parts. */
  get list(): Record<string, unknown>[] {
    return this.#all.map((each) => JSON.parse(textOf(each, whole(each))) as Record<string, unknown>);
  }

  /** @param content a chunk of a message, as JSON */
  chunk(content: string, id: string | undefined, seq: number): ArtifactChange | undefined {
    if (content === '""') return undefined;
    if (!this.#open || this.#open.id !== id) this.#open = { artifact: this.#text(seq), id };
    const { artifact } = this.#open;
    const append = artifact.parts.length > 0;
    artifact.parts.push({ seq, json: content.slice(1, -1) });
    return { artifact: textOf(artifact, `{"text":${content}}`), append, isLast: false };
  }

  read({ type, data }: Envelope, seq: number): ArtifactChange[] {
    if (CLOSING.has(type)) this.#open = undefined;
    switch (type) {
      case 'message': {
        const { content, id } = data as MessageEnvelope['data'];
        const change = this.chunk(JSON.stringify(content), id, seq);
        return change ? [change] : [];
      }
      case 'file':
        return [this.#file(data as FileEnvelope['data'], seq)];
      case 'result': {
        const { value } = data as ResultEnvelope['data'];
        return [this.#add('result', 'result', { data: value, mediaType: 'application/json' }, seq)];
      }
      case 'source':
        return [this.#source(data as SourceEnvelope['data'], seq)];
      case 'restarted':
        return this.#restart((data as { from: number }).from);
      default:
        return [];
    }
  }

  #text(seq: number): KeptArtifact {
    const artifact = { artifactId: `text-${seq}`, name: undefined, isText: true, parts: [] };
    this.#all.push(artifact);
    return artifact;
  }

  #file({ name, mimeType, path }: FileEnvelope['data'], seq: number): ArtifactChange {
    const url = path.startsWith('/') ? this.origin + path : path;
    return this.#add(`file-${seq}`, name, { url, filename: name, mediaType: mimeType }, seq);
  }

  #source(source: SourceEnvelope['data'], seq: number): ArtifactChange {
    return {
      ...this.#add('sources', 'sources', { data: source, mediaType: 'application/json' }, seq),
      isLast: false,
    };
  }

  #add(artifactId: string, name: string, part: object, seq: number): ArtifactChange {
    const known = this.#all.find((each) => each.artifactId === artifactId);
    const artifact = known ?? { artifactId, name, isText: false, parts: [] };
    if (!known) this.#all.push(artifact);
    const json = JSON.stringify(part);
    artifact.parts.push({ seq, json });
    return { artifact: textOf(artifact, json), append: known !== undefined, isLast: true };
  }

  /** Parts after the checkpoint are void: the artifacts that have such parts are told again. */
  #restart(from: number): ArtifactChange[] {
    const changed = this.#all.filter(({ parts }) => parts.at(-1)!.seq > from);
    for (const artifact of changed) artifact.parts = artifact.parts.filter(({ seq }) => seq <= from);
    this.#all = this.#all.filter(({ parts }) => parts.length > 0);
    return changed.map((each) => ({
      artifact: textOf(each, each.parts.length > 0 ? whole(each) : EMPTY),
      ...{ append: false, isLast: false },
    }));
  }
}

/** After these, a chunk begins another text. */
const CLOSING = new Set(['reasoning', 'tool_call', 'tool_result', 'input_required', 'restarted']);

function whole({ isText, parts }: KeptArtifact): string {
  const texts = parts.map(({ json }) => json);
  return isText ? `{"text":"${texts.join('')}"}` : texts.join();
}

function textOf({ artifactId, name }: KeptArtifact, parts: string): string {
  const head = name === undefined ? '' : `"name":${JSON.stringify(name)},`;
  return `{"artifactId":"${artifactId}",${head}"parts":[${parts}]}`;
}

/** Reads the artifacts of a log, for an answer that is no stream. */
export class ArtifactReader extends EventForm {
  readonly artifacts: Artifacts;

  constructor(origin: string) {
    super();
    this.artifacts = new Artifacts(origin);
  }

  protected override read(line: string, seq: number): void {
    const chunk = chunkOf(line);
    if (chunk === undefined) this.artifacts.read(JSON.parse(line) as Envelope, seq);
    else this.artifacts.chunk(chunk, undefined, seq);
  }
}
