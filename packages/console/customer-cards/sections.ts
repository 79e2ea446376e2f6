import type { Section } from '../administration/section.ts';
import { CARD_SOURCE_TEXTS } from '../administration/texts/channel-texts.ts';
import { texts } from '../texts/texts.ts';

/** Where the account has cards of its customers made. */
export const CUSTOMER_CARD_SECTIONS: readonly Section[] = [
  {
    slug: 'customer-cards',
    texts: CARD_SOURCE_TEXTS,
    title: texts.customerCards.title,
    one: texts.customerCards.one,
    about: texts.customerCards.about,
    get: 'get_customer_card_source',
    update: 'set_customer_card_source',
    columns: [],
    secret: 'secret',
    actions: [
      {
        label: texts.customerCards.rotate,
        operation: 'rotate_customer_card_secret',
        when: ({ url }) => url !== null,
        warning: texts.customerCards.rotateWarning,
        secret: 'secret',
      },
    ],
  },
];
