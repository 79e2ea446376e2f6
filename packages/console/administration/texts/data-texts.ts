import { texts } from '../../texts/texts.ts';
import type { FieldTexts } from '../field-texts.ts';

const { account, exported, imported, retention } = texts.administration.fields;

export const IMPORT_TEXTS: FieldTexts = {
  ...imported,
  emails_verified: { ...imported.emails_verified, isOn: false },
};

export const EXPORT_TEXTS: FieldTexts = exported;

export const RETENTION_TEXTS: FieldTexts = retention;

export const ACCOUNT_TEXTS: FieldTexts = account;
