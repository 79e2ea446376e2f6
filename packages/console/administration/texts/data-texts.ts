import type { FieldTexts } from '../field-texts.ts';

export const IMPORT_TEXTS: FieldTexts = {
  source: { label: 'Source', help: 'The service that the archive is from.' },
  origin: { label: 'Name of the server', help: 'Only if you import archives of several servers.' },
  email_domain: {
    label: 'Domain of addresses',
    help: 'People without an address get their user name at this domain.',
  },
  emails_verified: {
    label: 'The addresses belong to these people',
    help: 'Then a person with the same address here is the same person. Otherwise each becomes a placeholder.',
    isOn: false,
  },
  file_token: {
    label: 'Token for files',
    help: 'Of the service, if the archive only links to files. It is removed when the import ends.',
  },
};

export const EXPORT_TEXTS: FieldTexts = {
  id: { label: 'Of' },
};

export const RETENTION_TEXTS: FieldTexts = {
  messages_days: { label: 'Messages, days', help: 'With their files. Empty: they are kept.' },
  files_days: { label: 'Files, days', help: 'The messages stay. Empty: they are kept.' },
  notifications_days: { label: 'Notifications, days', help: 'Empty: they are kept.' },
  runs_days: { label: 'Runs of agents, days', help: 'Counted from their end. Empty: they are kept.' },
  audit_days: { label: 'Audit, days', help: 'Empty: it is kept.' },
};

export const ACCOUNT_TEXTS: FieldTexts = {
  picture_metadata: {
    label: 'What cameras write into pictures',
    help: 'Place, device and time of new pictures in messages: remove it, or keep it.',
  },
};
