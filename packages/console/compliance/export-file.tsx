import { CopyLine } from '../administration/notice.tsx';
import type { MoreProps } from '../administration/section.ts';
import { texts } from '../texts/texts.ts';

/** The archive of an export, and the way to check its signature. */
export function ExportFile({ item }: MoreProps) {
  if (item.status !== 'complete' || typeof item.url !== 'string') return null;
  return (
    <section class="administration-part" aria-label={texts.compliance.archive}>
      <h2>{texts.compliance.archive}</h2>
      <p>
        <a class="button button-primary" href={item.url} download={`${item.id}.zip`}>
          {texts.compliance.download}
        </a>
      </p>
      <p>{texts.compliance.check}</p>
      <CopyLine
        label={texts.compliance.command}
        text={`npm run -s admin -- export verify --file ${item.id}.zip`}
      />
    </section>
  );
}
