import { Paperclip } from 'lucide';
import { useRef } from 'preact/hooks';
import { IconButton } from '../elements/button.tsx';

export interface FilesButtonProps {
  readonly label: string;
  /** The name of the field behind the button. */
  readonly field: string;
  readonly onFiles: (files: readonly File[]) => void;
  readonly disabled?: boolean;
}

/** A button that asks for files of this machine. */
export function FilesButton({ label, field, onFiles, disabled = false }: FilesButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton icon={Paperclip} label={label} disabled={disabled} onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={field}
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
    </>
  );
}
