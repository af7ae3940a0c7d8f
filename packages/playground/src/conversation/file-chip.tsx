import { Icon } from '../icons.js';
import type { QuestionFile } from '../state/turn.js';
import { sizeOf } from '../text.js';

/** A file of a question. */
export function FileChip({ file, onRemove }: { file: QuestionFile; onRemove?: () => void }) {
  return (
    <span class="chip" title={file.mimeType}>
      <Icon name="file" />
      <span class="name">{file.name}</span>
      <span class="size">{sizeOf(file.size)}</span>
      {onRemove && (
        <button type="button" class="plain" aria-label={`Remove ${file.name}`} onClick={onRemove}>
          <Icon name="close" />
        </button>
      )}
    </span>
  );
}
