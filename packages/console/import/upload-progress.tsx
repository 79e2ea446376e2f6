import type { UploadProgress } from '@parley/client';
import { texts } from '../texts/texts.ts';

/** The progress of an archive's upload. */
export function Progress({ sentBytes, totalBytes }: UploadProgress) {
  const percent = totalBytes === 0 ? 0 : Math.floor((sentBytes / totalBytes) * 100);
  return (
    <p class="upload-progress">
      <progress aria-label={texts.import.upload} max={totalBytes} value={sentBytes} /> {percent} %
    </p>
  );
}
