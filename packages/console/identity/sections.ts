import type { Section } from '../administration/section.ts';
import { PROVIDER_TEXTS } from '../administration/texts/people-texts.ts';

/** External issuers of tokens. */
export const IDENTITY_SECTIONS: readonly Section[] = [
  {
    slug: 'identity-providers',
    texts: PROVIDER_TEXTS,
    title: 'Identity providers',
    one: 'provider',
    about: 'Issuers whose tokens are accepted, and by which people sign in.',
    list: 'list_identity_providers',
    get: 'get_identity_provider',
    create: 'create_identity_provider',
    update: 'update_identity_provider',
    columns: ['name', 'issuer', 'person', 'provision'],
    actions: [
      {
        label: 'Delete',
        operation: 'delete_identity_provider',
        warning: 'Tokens of this issuer are refused at once.',
        isDanger: true,
        removes: true,
      },
    ],
  },
];
