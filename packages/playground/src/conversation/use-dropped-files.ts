import { useEffect, useState } from 'preact/hooks';

/** Takes files that are dropped anywhere on the page. @returns whether files are above the page */
export function useDroppedFiles(add: (files: Iterable<File>) => void): boolean {
  const [isAbove, setAbove] = useState(false);
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      setAbove(true);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setAbove(false);
    const drop = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setAbove(false);
      add(event.dataTransfer.files);
    };
    addEventListener('dragover', over);
    addEventListener('dragleave', leave);
    addEventListener('drop', drop);
    return () => {
      removeEventListener('dragover', over);
      removeEventListener('dragleave', leave);
      removeEventListener('drop', drop);
    };
  }, []);
  return isAbove;
}
