import type { RetentionPreview } from '@parley/protocol/resources/retention-preview.ts';
import type { Meaning, Read } from '../administration/section.ts';

/** Returns what a retention policy would purge if it was set now, in a few sentences. */
export async function retentionMeaning(body: object, read: Read): Promise<Meaning> {
  const isKept = Object.values(body).every((days) => days === null);
  if (isKept) return { text: 'Nothing is purged any more: everything is kept.' };
  const preview = (await read('preview_retention_policy', body)) as RetentionPreview;
  const parts = KINDS.flatMap(({ kind, one, several }) => {
    const { count, more } = preview[kind];
    if (count === 0 && !more) return [];
    return [`${count.toLocaleString('en')}${more ? ' or more' : ''} ${count === 1 && !more ? one : several}`];
  });
  const now =
    parts.length === 0
      ? 'Nothing is that old now.'
      : `${LIST.format(parts)} will be purged for good as soon as this is saved. This cannot be undone.`;
  const text = `${now} From then on everything goes once it is older than its period. What is under a legal hold stays.`;
  return parts.length === 0 ? { text } : { text, tick: `Purge ${LIST.format(parts)} for good` };
}

const KINDS = [
  { kind: 'messages', one: 'message', several: 'messages' },
  { kind: 'files', one: 'file', several: 'files' },
  { kind: 'notifications', one: 'notification', several: 'notifications' },
  { kind: 'runs', one: 'run of an agent', several: 'runs of agents' },
  { kind: 'audit', one: 'audit event', several: 'audit events' },
] as const;

const LIST = new Intl.ListFormat('en');
