import { FileText, RotateCw, X } from 'lucide';
import { IconButton } from '../../../../platform/ui/button.tsx';
import { sizeText } from '../../../../platform/ui/bytes.ts';
import { Icon } from '../../../../platform/ui/icon.tsx';
import type { ChosenFile } from './uploads.ts';

export interface UploadListProps {
  readonly files: readonly ChosenFile[];
  readonly onRemove: (key: number) => void;
  readonly onRetry: (key: number) => void;
}

/** The files that go with the next message. */
export function UploadList({ files, onRemove, onRetry }: UploadListProps) {
  if (files.length === 0) return null;
  return (
    <ul class="upload-list" aria-label="Files to send">
      {files.map((chosen) => (
        <UploadRow key={chosen.key} {...{ chosen, onRemove, onRetry }} />
      ))}
    </ul>
  );
}

interface RowProps extends Omit<UploadListProps, 'files'> {
  readonly chosen: ChosenFile;
}

function UploadRow({ chosen, onRemove, onRetry }: RowProps) {
  const { key, file, previewUrl, progress, attachment, problem } = chosen;
  return (
    <li class={`upload-row ${problem === undefined ? '' : 'upload-row-failed'}`}>
      {previewUrl === null ? (
        <span class="upload-row-icon">
          <Icon of={FileText} size={20} />
        </span>
      ) : (
        <img src={previewUrl} alt="" class="upload-row-picture" />
      )}
      <span class="upload-row-words">
        <span class="upload-row-name">{file.name}</span>
        {problem === undefined ? (
          <small>
            {attachment === undefined ? <Progress of={file.name} at={progress} /> : sizeText(file.size)}
          </small>
        ) : (
          <small role="alert">{problem}</small>
        )}
      </span>
      {problem !== undefined && file.size > 0 && (
        <IconButton icon={RotateCw} label={`Upload ${file.name} again`} onClick={() => onRetry(key)} />
      )}
      <IconButton icon={X} label={`Remove ${file.name}`} onClick={() => onRemove(key)} />
    </li>
  );
}

function Progress({ of, at }: { readonly of: string; readonly at: number }) {
  return <progress aria-label={`Uploading ${of}`} max={1} value={at} />;
}
