import type { Section } from '../administration/section.ts';
import { PROVIDER_TEXTS } from '../administration/texts/people-texts.ts';
import { texts } from '../texts/texts.ts';

/** External issuers of tokens. */
export const IDENTITY_SECTIONS: readonly Section[] = [
  {
    slug: 'identity-providers',
    texts: PROVIDER_TEXTS,
    title: texts.identity.title,
    one: texts.identity.one,
    about: texts.identity.about,
    list: 'list_identity_providers',
    get: 'get_identity_provider',
    create: 'create_identity_provider',
    update: 'update_identity_provider',
    columns: ['name', 'issuer', 'person', 'provision'],
    actions: [
      {
        label: texts.identity.delete,
        operation: 'delete_identity_provider',
        warning: texts.identity.deleteWarning,
        isDanger: true,
        removes: true,
      },
    ],
  },
];
