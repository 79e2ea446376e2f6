import type { Section } from '../administration/section.ts';
import { CARD_SOURCE_TEXTS } from '../administration/texts/channel-texts.ts';

/** Where the account has cards of its customers made. */
export const CUSTOMER_CARD_SECTIONS: readonly Section[] = [
  {
    slug: 'customer-cards',
    texts: CARD_SOURCE_TEXTS,
    title: 'Customer cards',
    one: 'source',
    about:
      'An address of your own application, which says what it knows of a customer. The answer stands beside the case. Empty: there are no cards.',
    get: 'get_customer_card_source',
    update: 'set_customer_card_source',
    columns: [],
    secret: 'secret',
    actions: [
      {
        label: 'Rotate secret',
        operation: 'rotate_customer_card_secret',
        when: ({ url }) => url !== null,
        warning: 'A new secret signs the requests; the one before counts for a day beside it.',
        secret: 'secret',
      },
    ],
  },
];
