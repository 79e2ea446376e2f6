import type { Section } from '../administration/section.ts';
import { EXPORT_TEXTS, RETENTION_TEXTS } from '../administration/texts/data-texts.ts';
import { ExportFile } from './export-file.tsx';
import { retentionMeaning } from './retention-meaning.ts';

/** Rules for keeping and removing data. */
export const COMPLIANCE_SECTIONS: readonly Section[] = [
  {
    slug: 'exports',
    texts: {},
    title: 'Exports',
    one: 'export',
    about: 'What is kept of a person or a conversation, as a signed archive.',
    list: 'list_exports',
    get: 'get_export',
    columns: ['subject_type', 'subject_id', 'status', 'created_at', 'expires_at'],
    omit: ['url'],
    begins: [
      { label: 'Export a person', operation: 'create_user_export', shownIn: 'exports', texts: EXPORT_TEXTS },
      {
        label: 'Export a conversation',
        operation: 'create_conversation_export',
        shownIn: 'exports',
        texts: EXPORT_TEXTS,
      },
    ],
    More: ExportFile,
  },
  {
    slug: 'erasures',
    texts: {},
    title: 'Erasures',
    one: 'erasure',
    about: 'Persons that were removed for good.',
    list: 'list_erasures',
    get: 'get_erasure',
    columns: ['created_at', 'user_id', 'messages', 'status'],
  },
  {
    slug: 'retention',
    texts: RETENTION_TEXTS,
    title: 'Retention',
    one: 'policy',
    about: 'After how many days things are purged. Empty: they are kept.',
    get: 'get_retention_policy',
    update: 'set_retention_policy',
    meaningOf: retentionMeaning,
    columns: [],
  },
];
