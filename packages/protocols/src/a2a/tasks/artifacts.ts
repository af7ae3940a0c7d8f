import type {
  Envelope,
  FileEnvelope,
  MessageEnvelope,
  ResultEnvelope,
  SourceEnvelope,
} from 'nest-agent-query';
import { JsonPieces, type LogText, LogTexts, type Piece } from 'nest-agent-query/protocol';
import { chunkOf, contentsOf, EventForm } from '../../view/event-form.js';
import type { Face } from '../face.js';

/** What has become of an artifact. */
export interface ArtifactChange {
  /** The artifact with its new parts, or with all of them, as JSON. */
  artifact: Piece[];
  /** The parts follow those that were told before; otherwise they replace them. */
  append: boolean;
  /** Nothing more is appended. Of a text that is not known. */
  isLast: boolean;
}

interface KeptArtifact {
  artifactId: string;
  name: string | undefined;
  /** Undefined if it is of parts. */
  text: LogText | undefined;
  /** JSON, with the number of the envelope. */
  parts: { seq: number; json: string }[];
  /** A text that clients know to be complete. */
  isComplete?: boolean;
}

/** What an artifact takes besides its parts, and each part besides its JSON, in characters. */
const ENTRY_LENGTH = 128;

/** Two copies of a part are made: as it is, and in the JSON of the answer. */
const COPIES = 2;

const contentOf = contentsOf('message');

/** The artifacts of a log, and what becomes of them envelope by envelope. */
export class Artifacts {
  #all: KeptArtifact[] = [];
  /** The text that chunks are appended to, and the `id` of its messages. */
  #open: { text: LogText; artifact: KeptArtifact; id: string | undefined } | undefined;
  readonly #texts: LogTexts;
  /** How many characters are kept besides the texts. */
  #kept = 0;

  /**
   * @param origin of the URLs of files, such as `https://agents.example.com`
   * @param face writes the parts
   * @param source has the log
   */
  constructor(
    private readonly origin: string,
    private readonly face: Pick<Face, 'textHead' | 'part'>,
    source: ConstructorParameters<typeof LogTexts>[0],
  ) {
    this.#texts = new LogTexts(source);
  }

  /** How many characters they hold. */
  get held(): number {
    return this.#texts.held + this.#kept;
  }

  /** A list of those that have content, with all their parts. Undefined if there is none. */
  get list(): JsonPieces | undefined {
    if (this.#all.length === 0) return undefined;
    const pieces = this.#all.flatMap((each) => [',', ...jsonOf(each, this.#whole(each))]);
    return new JsonPieces(['[', ...pieces.slice(1), ']']);
  }

  /** @param content a chunk of a message, as JSON */
  chunk(content: string, id: string | undefined, seq: number): ArtifactChange | undefined {
    if (content === '""') return undefined;
    if (!this.#open || this.#open.id !== id) this.#open = { ...this.#text(seq), id };
    const { artifact, text } = this.#open;
    const append = !text.isEmpty;
    text.add(content, seq);
    return { artifact: jsonOf(artifact, [`${this.face.textHead}${content}}`]), append, isLast: false };
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

  /** Says of the texts until now that nothing more is appended, once. */
  complete(): ArtifactChange[] {
    const texts = this.#all.filter(({ text, isComplete }) => text && !isComplete);
    for (const each of texts) each.isComplete = true;
    return texts.map((each) => ({ artifact: jsonOf(each, this.#nothing), append: true, isLast: true }));
  }

  /** An artifact must have a part, also where nothing is left or added. */
  get #nothing(): Piece[] {
    return [`${this.face.textHead}""}`];
  }

  #whole({ text, parts }: KeptArtifact): Piece[] {
    if (text) return [`${this.face.textHead}"`, text.json, '"}'];
    return [parts.map(({ json }) => json).join()];
  }

  #text(seq: number): { artifact: KeptArtifact; text: LogText } {
    const text = this.#texts.begin(contentOf);
    const artifact = { artifactId: `text-${seq}`, name: undefined, text, parts: [] };
    this.#all.push(artifact);
    this.#kept += ENTRY_LENGTH;
    return { artifact, text };
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
    const artifact = known ?? { artifactId, name, text: undefined, parts: [] };
    if (!known) this.#all.push(artifact);
    const json = JSON.stringify(this.face.part(part));
    artifact.parts.push({ seq, json });
    this.#kept += COPIES * (json.length + ENTRY_LENGTH);
    return { artifact: jsonOf(artifact, [json]), append: known !== undefined, isLast: true };
  }

  /** Parts after the checkpoint are void: the artifacts that have such parts are told again. */
  #restart(from: number): ArtifactChange[] {
    const changed = this.#all.filter(({ text, parts }) => (text?.last ?? parts.at(-1)!.seq) > from);
    for (const artifact of changed) {
      artifact.text?.cut(from);
      artifact.parts = artifact.parts.filter(({ seq }) => seq <= from);
    }
    this.#all = this.#all.filter((each) => !isEmpty(each));
    return changed.map((each) => ({
      artifact: jsonOf(each, isEmpty(each) ? this.#nothing : this.#whole(each)),
      ...{ append: false, isLast: false },
    }));
  }
}

/** After these, a chunk begins another text. */
const CLOSING = new Set(['reasoning', 'tool_call', 'tool_result', 'input_required', 'restarted']);

function isEmpty({ text, parts }: KeptArtifact): boolean {
  return text ? text.isEmpty : parts.length === 0;
}

function jsonOf({ artifactId, name }: KeptArtifact, parts: Piece[]): Piece[] {
  const head = name === undefined ? '' : `"name":${JSON.stringify(name)},`;
  return [`{"artifactId":"${artifactId}",${head}"parts":[`, ...parts, ']}'];
}

/** Reads the artifacts of a log, for an answer that is no stream. */
export class ArtifactReader extends EventForm {
  readonly artifacts: Artifacts;

  constructor(origin: string, face: Pick<Face, 'textHead' | 'part'>) {
    super();
    this.artifacts = new Artifacts(origin, face, this);
  }

  override get held(): number {
    return this.artifacts.held;
  }

  protected override read(line: string, seq: number): void {
    const chunk = chunkOf(line);
    if (chunk === undefined) this.artifacts.read(JSON.parse(line) as Envelope, seq);
    else this.artifacts.chunk(chunk, undefined, seq);
  }
}
