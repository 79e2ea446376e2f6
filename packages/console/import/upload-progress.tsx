import type { UploadProgress } from '@parley/client';

/** How far the upload of an archive is. */
export function Progress({ sentBytes, totalBytes }: UploadProgress) {
  const percent = totalBytes === 0 ? 0 : Math.floor((sentBytes / totalBytes) * 100);
  return (
    <p class="upload-progress">
      <progress aria-label="Upload" max={totalBytes} value={sentBytes} /> {percent} %
    </p>
  );
}
