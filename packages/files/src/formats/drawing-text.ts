import type { TextSink } from './text-sink.js';
import type { XmlListener } from './xml.js';

/** The root elements of the diagrams (SmartArt) and charts of a document. */
export const DRAWINGS = ['dataModel', 'chartSpace'];

/** Elements that have text: those of drawings, of comments of older programs, and of names in a chart. */
const TEXTS = ['t', 'text', 'v'];
const PARAGRAPHS = ['p', 'text', 'v'];
/** What older programs show in place of something, and the numbers of a chart. */
const LEFT_OUT = ['Fallback', 'numCache', 'numLit'];
/** Characters of one paragraph. */
const LONGEST = 1_000_000;

/**
 * Reads the text of a slide, or of a diagram or chart of any document of Office (ECMA-376 DrawingML).
 *
 * @param onParagraph receives each paragraph that is not empty, and the kind of its placeholder, such as `title`
 */
export function drawingListener(onParagraph: (line: string, place?: string) => void): XmlListener {
  let line = '';
  let inText = false;
  let place: string | undefined;
  let leftOut = 0;
  /** Each series of a chart repeats the names of its points. */
  const names = new Set<string>();
  return {
    open(name, attributes) {
      if (LEFT_OUT.includes(name)) leftOut += 1;
      if (name === 'ph') place = attributes['type'];
      if (TEXTS.includes(name)) inText = leftOut === 0;
      if (name === 'br') line += ' ';
    },
    text(piece) {
      if (inText && line.length < LONGEST) line += piece;
    },
    close(name) {
      if (LEFT_OUT.includes(name)) leftOut -= 1;
      // A table or a picture that follows is not in this place.
      if (name === 'sp') place = undefined;
      if (TEXTS.includes(name)) inText = false;
      if (!PARAGRAPHS.includes(name)) return;
      const isRepeated = name === 'v' && names.has(line);
      if (name === 'v' && names.size < 10_000) names.add(line);
      if (line.trim() !== '' && !isRepeated) onParagraph(line, place);
      line = '';
    },
  };
}

/** Passes each paragraph of a drawing on. */
export function drawn(sink: TextSink): XmlListener {
  return drawingListener((line) => {
    sink.add(line);
    sink.endParagraph();
  });
}
