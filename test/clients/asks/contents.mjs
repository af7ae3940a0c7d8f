/** A text and files, as protocols of models write them. */

const dataUrl = ({ mimeType, base64 }) => `data:${mimeType};base64,${base64}`;

const isImage = ({ mimeType }) => mimeType.startsWith('image/');

/** The parts of a message of Chat Completions. Without files, the text alone. */
export function chatContent(text, files) {
  if (files.length === 0) return text;
  const parts = files.map((file) =>
    isImage(file)
      ? { type: 'image_url', image_url: { url: dataUrl(file) } }
      : { type: 'file', file: { filename: file.name, file_data: dataUrl(file) } },
  );
  return [{ type: 'text', text }, ...parts];
}

/** The parts of a message of Responses. */
export function responsesContent(text, files) {
  const parts = files.map((file) =>
    isImage(file)
      ? { type: 'input_image', image_url: dataUrl(file), detail: 'auto' }
      : { type: 'input_file', filename: file.name, file_data: dataUrl(file) },
  );
  return [{ type: 'input_text', text }, ...parts];
}
