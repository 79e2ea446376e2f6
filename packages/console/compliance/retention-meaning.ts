import type { RetentionPreview } from '@parley/protocol/resources/retention-preview.ts';
import { countText } from '@parley/ui/text/amounts.ts';
import { inLanguage } from '@parley/ui/text/language.ts';
import type { Meaning, Read } from '../administration/section.ts';
import { texts } from '../texts/texts.ts';

/** Returns what a retention policy would purge if it was set now, in a few sentences. */
export async function retentionMeaning(body: object, read: Read): Promise<Meaning> {
  const isKept = Object.values(body).every((days) => days === null);
  if (isKept) return { text: texts.compliance.allKept };
  const preview = (await read('preview_retention_policy', body)) as RetentionPreview;
  const parts = KINDS.flatMap((kind) => {
    const { count, more } = preview[kind];
    if (count === 0 && !more) return [];
    const { one, several } = texts.compliance.kinds[kind];
    const number = more ? texts.compliance.orMore(countText(count)) : countText(count);
    return [`${number} ${count === 1 && !more ? one : several}`];
  });
  if (parts.length === 0) return { text: texts.compliance.nothingPurged };
  const list = lists().format(parts);
  return { text: texts.compliance.purged(list), tick: texts.compliance.purge(list) };
}

const KINDS = ['messages', 'files', 'notifications', 'runs', 'audit'] as const;

const lists = inLanguage((locale) => new Intl.ListFormat(locale));
