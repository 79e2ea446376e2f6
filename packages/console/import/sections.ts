import { isStatus, type Section } from '../administration/section.ts';
import { IMPORT_TEXTS } from '../administration/texts/data-texts.ts';
import { texts } from '../texts/texts.ts';
import { ImportReport } from './import-report.tsx';
import { NewImport } from './new-import.tsx';

/** Archives of other services. */
export const IMPORT_SECTIONS: readonly Section[] = [
  {
    slug: 'imports',
    texts: IMPORT_TEXTS,
    title: texts.import.title,
    one: texts.import.one,
    about: texts.import.about,
    list: 'list_imports',
    get: 'get_import',
    create: 'create_import',
    columns: ['source', 'status', 'progress.done', 'created_at'],
    omit: ['parts', 'counts'],
    New: NewImport,
    More: ImportReport,
    actions: [
      {
        label: texts.import.cancel,
        operation: 'cancel_import',
        when: isStatus('awaiting_upload', 'queued', 'running'),
        warning: texts.import.cancelWarning,
        isDanger: true,
      },
    ],
    parts: [
      {
        title: texts.import.remarks,
        list: 'list_import_remarks',
        columns: ['type', 'reason', 'count', 'detail', 'place'],
      },
    ],
  },
];
