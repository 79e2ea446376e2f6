import { texts } from '../../texts/texts.ts';
import { type FieldTexts, FOR_DEVELOPERS } from '../field-texts.ts';

const { claim, customer, erase, group, key, person, provider, role } = texts.administration.fields;

export const PERSON_TEXTS: FieldTexts = { ...person, ...FOR_DEVELOPERS };

export const CLAIM_TEXTS: FieldTexts = claim;

export const ERASE_TEXTS: FieldTexts = erase;

export const ROLE_TEXTS: FieldTexts = role;

export const GROUP_TEXTS: FieldTexts = { ...group, ...FOR_DEVELOPERS };

export const CUSTOMER_TEXTS: FieldTexts = { ...customer, ...FOR_DEVELOPERS };

export const KEY_TEXTS: FieldTexts = key;

export const PROVIDER_TEXTS: FieldTexts = {
  ...provider,
  algorithms: { ...provider.algorithms, isForDevelopers: true },
  claims: { ...provider.claims, isForDevelopers: true },
  subject: { ...provider.subject, isForDevelopers: true },
};
