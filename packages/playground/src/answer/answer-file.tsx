import { useEffect, useState } from 'preact/hooks';
import type { FileEnvelope } from 'nest-agent-query-client';
import { TextDialog } from '../dialogs/text-dialog.js';
import { Icon } from '../icons.js';
import type { Conversation } from '../state/conversation.js';
import { readableName, sizeOf } from '../text.js';

/** Larger images are shown when the user asks for them, in bytes. */
const IMAGE = 20_000_000;

/** So much of a text is shown, in bytes. */
const TEXT = 1_000_000;

/** The types of images that are shown, without their parameters. A type such as `image/png+xml` is that of a document. */
const IMAGES = /^image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml)(?=\s*(?:;|$))/i;
const SVG = /svg/i;
const TEXTS = /^(?:text\/|application\/(?:json|xml|yaml|javascript|x-ndjson)\b)|\+(?:json|xml)\b/i;

interface Props {
  file: FileEnvelope['data'];
  runId: string;
  conversation: Conversation;
}

/** A file of an answer. Its content needs the credential of the user, so that the page fetches it. */
export function AnswerFile({ file, runId, conversation }: Props) {
  const { mimeType, size } = file;
  const name = readableName(file.name);
  const [isBroken, setBroken] = useState(false);
  const imageType = isBroken ? undefined : IMAGES.exec(mimeType)?.[0];
  const isImage = imageType !== undefined;
  const [address, setAddress] = useState<string>();
  const [text, setText] = useState<string>();
  const [fault, setFault] = useState<string>();
  const attempt = (action: () => Promise<void>) => {
    setFault(undefined);
    action().catch((error: Error) => setFault(error.message));
  };
  const showImage = async () =>
    setAddress(await addressOf(await conversation.calls.content(runId, file), imageType!));
  useEffect(() => {
    if (isImage && size <= IMAGE) attempt(showImage);
  }, [file.sha256]);
  useEffect(() => () => void (address && URL.revokeObjectURL(address)), [address]);
  const showText = async () => {
    const isLong = size > TEXT;
    const shown = await conversation.calls.text(
      runId,
      file.sha256,
      isLong ? `bytes=0-${TEXT - 1}` : undefined,
    );
    setText(isLong ? `${shown}\n… (${sizeOf(size)} in all)` : shown);
  };
  return (
    <figure class={`file ${isImage ? 'image' : ''}`}>
      {isImage &&
        (address ? (
          <img
            class={SVG.test(imageType) ? 'drawing' : ''}
            src={address}
            alt={name}
            onError={() => setBroken(true)}
          />
        ) : (
          <div class="no-image" />
        ))}
      <figcaption>
        <Icon name="file" />
        <span class="name">{name}</span>
        <span class="size">{sizeOf(size)}</span>
        {TEXTS.test(mimeType) && !isImage && (
          <button
            type="button"
            class="plain small"
            aria-label={`View ${name}`}
            onClick={() => attempt(showText)}
          >
            View
          </button>
        )}
        {isImage && !address && size > IMAGE && (
          <button
            type="button"
            class="plain small"
            aria-label={`View ${name}`}
            onClick={() => attempt(showImage)}
          >
            View
          </button>
        )}
        <button
          type="button"
          class="plain small"
          aria-label={`Download ${name}`}
          onClick={() => attempt(async () => download(await conversation.calls.content(runId, file), name))}
        >
          <Icon name="download" />
          Download
        </button>
      </figcaption>
      {isBroken && <p class="fault">The browser cannot show this picture. It can be downloaded.</p>}
      {fault !== undefined && <p class="fault">{fault}</p>}
      {text !== undefined && <TextDialog name={name} text={text} onClose={() => setText(undefined)} />}
    </figure>
  );
}

/**
 * An address for an image of a type. A `blob:` has the origin of the page, also where the user opens it in a tab. There an
 * SVG is a document, whose scripts could read the credential of the user. A `data:` has an origin of its own.
 */
async function addressOf(content: Blob, type: string): Promise<string> {
  const image = content.slice(0, content.size, type);
  if (!SVG.test(type)) return URL.createObjectURL(image);
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(new Error('The picture cannot be read.'));
    reader.readAsDataURL(image);
  });
}

/** The file gets a type that no browser shows: some open what they could show, although it is to be saved. */
function download(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content.slice(0, content.size, 'application/octet-stream'));
  link.download = name;
  link.click();
  // The browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
