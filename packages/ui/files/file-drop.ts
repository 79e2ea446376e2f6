import { hasFiles } from '@parley/client/writing/pasted.ts';
import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useEvent } from '../hooks/use-event.ts';

/**
 * Takes files that are dropped onto the surroundings of an element: the section, the pane of a
 * thread, or the chat. Returns whether files are being held above it.
 */
export function useFileDrop(
  inside: RefObject<HTMLElement | null>,
  isOn: boolean,
  onFiles: (files: readonly File[]) => void,
): boolean {
  const [isOver, setOver] = useState(false);
  const take = useEvent(onFiles);
  useEffect(() => {
    const target = inside.current?.closest<HTMLElement>('section, aside, main') ?? inside.current;
    if (!isOn || target === null) return;
    const over = (event: DragEvent) => {
      if (!hasFiles(event.dataTransfer)) return;
      event.preventDefault();
      event.dataTransfer!.dropEffect = 'copy';
      setOver(true);
    };
    const leave = ({ relatedTarget }: DragEvent) => {
      if (!(relatedTarget instanceof Node && target.contains(relatedTarget))) setOver(false);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (!hasFiles(event.dataTransfer)) return;
      event.preventDefault();
      take([...event.dataTransfer!.files]);
    };
    target.addEventListener('dragover', over);
    target.addEventListener('dragleave', leave);
    target.addEventListener('drop', drop);
    return () => {
      target.removeEventListener('dragover', over);
      target.removeEventListener('dragleave', leave);
      target.removeEventListener('drop', drop);
    };
  }, [inside, isOn, take]);
  return isOver;
}
