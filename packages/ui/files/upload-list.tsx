import type { ChosenFile } from '@parley/client/writing/uploads.ts';
import { FileText, RotateCw, X } from 'lucide';
import { IconButton } from '../elements/button.tsx';
import { Icon } from '../elements/icon.tsx';
import { sizeText } from '../text/bytes.ts';
import { shownName } from '../text/shown-name.ts';

export interface UploadListTexts {
  readonly list: string;
  readonly uploading: (name: string) => string;
  readonly again: (name: string) => string;
  readonly remove: (name: string) => string;
}

export interface UploadListProps {
  readonly texts: UploadListTexts;
  readonly files: readonly ChosenFile[];
  readonly onRemove: (key: number) => void;
  readonly onRetry: (key: number) => void;
}

/** The files that go with the next message. */
export function UploadList({ files, texts, onRemove, onRetry }: UploadListProps) {
  if (files.length === 0) return null;
  return (
    <ul class="upload-list" aria-label={texts.list}>
      {files.map((chosen) => (
        <UploadRow key={chosen.key} chosen={chosen} texts={texts} onRemove={onRemove} onRetry={onRetry} />
      ))}
    </ul>
  );
}

interface RowProps extends Omit<UploadListProps, 'files'> {
  readonly chosen: ChosenFile;
}

function UploadRow({ chosen, texts, onRemove, onRetry }: RowProps) {
  const { key, file, previewUrl, progress, attachment, problem, isRefused } = chosen;
  const name = shownName(file.name);
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
        <span class="one-line" dir="auto">
          {name}
        </span>
        {problem === undefined ? (
          <small>
            {attachment === undefined ? (
              <progress aria-label={texts.uploading(name)} max={1} value={progress} />
            ) : (
              sizeText(file.size)
            )}
          </small>
        ) : (
          <small role="alert">{problem}</small>
        )}
      </span>
      {problem !== undefined && !isRefused && (
        <IconButton icon={RotateCw} label={texts.again(name)} onClick={() => onRetry(key)} />
      )}
      <IconButton icon={X} label={texts.remove(name)} onClick={() => onRemove(key)} />
    </li>
  );
}
