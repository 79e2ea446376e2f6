import { isStatus, type Section } from '../administration/section.ts';
import { IMPORT_TEXTS } from '../administration/texts/data-texts.ts';
import { ImportReport } from './import-report.tsx';
import { NewImport } from './new-import.tsx';

/** Archives of other services. */
export const IMPORT_SECTIONS: readonly Section[] = [
  {
    slug: 'imports',
    texts: IMPORT_TEXTS,
    title: 'Imports',
    one: 'import',
    about: 'Archives of other services, and what became of them.',
    list: 'list_imports',
    get: 'get_import',
    create: 'create_import',
    columns: ['source', 'status', 'progress.done', 'created_at'],
    omit: ['parts', 'counts'],
    New: NewImport,
    More: ImportReport,
    actions: [
      {
        label: 'Cancel',
        operation: 'cancel_import',
        when: isStatus('awaiting_upload', 'queued', 'running'),
        warning: 'The import stops. What it has made stays.',
        isDanger: true,
      },
    ],
    parts: [
      {
        title: 'Remarks',
        list: 'list_import_remarks',
        columns: ['type', 'reason', 'count', 'detail', 'place'],
      },
    ],
  },
];
