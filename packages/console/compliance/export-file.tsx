import { CopyLine } from '../administration/notice.tsx';
import type { MoreProps } from '../administration/section.ts';

/** The archive of an export, and the way to check its signature. */
export function ExportFile({ item }: MoreProps) {
  if (item.status !== 'complete' || typeof item.url !== 'string') return null;
  return (
    <section class="administration-part" aria-label="Archive">
      <h2>Archive</h2>
      <p>
        <a class="button button-primary" href={item.url} download={`${item.id}.zip`}>
          Download
        </a>
      </p>
      <p>Its manifest has the SHA-256 of each file, and is signed. This checks both, with no database:</p>
      <CopyLine label="Command" text={`npm run -s admin -- export verify --file ${item.id}.zip`} />
    </section>
  );
}
