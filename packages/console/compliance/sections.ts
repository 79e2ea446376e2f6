import type { Section } from '../administration/section.ts';
import { EXPORT_TEXTS, RETENTION_TEXTS } from '../administration/texts/data-texts.ts';
import { texts } from '../texts/texts.ts';
import { ExportFile } from './export-file.tsx';
import { retentionMeaning } from './retention-meaning.ts';

/** Rules for keeping and removing data. */
export const COMPLIANCE_SECTIONS: readonly Section[] = [
  {
    slug: 'exports',
    texts: {},
    title: texts.compliance.exports,
    one: texts.compliance.export,
    about: texts.compliance.aboutExports,
    list: 'list_exports',
    get: 'get_export',
    columns: ['subject_type', 'subject_id', 'status', 'created_at', 'expires_at'],
    omit: ['url'],
    begins: [
      {
        label: texts.compliance.exportPerson,
        operation: 'create_user_export',
        shownIn: 'exports',
        texts: EXPORT_TEXTS,
      },
      {
        label: texts.compliance.exportConversation,
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
    title: texts.compliance.erasures,
    one: texts.compliance.erasure,
    about: texts.compliance.aboutErasures,
    list: 'list_erasures',
    get: 'get_erasure',
    columns: ['created_at', 'user_id', 'messages', 'status'],
  },
  {
    slug: 'retention',
    texts: RETENTION_TEXTS,
    title: texts.compliance.retention,
    one: texts.compliance.policy,
    about: texts.compliance.aboutRetention,
    get: 'get_retention_policy',
    update: 'set_retention_policy',
    meaningOf: retentionMeaning,
    columns: [],
  },
];
