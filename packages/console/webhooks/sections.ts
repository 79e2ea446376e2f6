import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import type { Section } from '../administration/section.ts';
import { REPLAY_TEXTS, WEBHOOK_TEXTS } from '../administration/texts/channel-texts.ts';
import { DeliveryLog } from './delivery-log.tsx';

/** The receivers of events. */
export const WEBHOOK_SECTIONS: readonly Section[] = [
  {
    slug: 'webhooks',
    texts: WEBHOOK_TEXTS,
    begin: () => ({ version: CURRENT_VERSION }),
    title: 'Webhooks',
    one: 'webhook',
    about: 'Where events are sent to, and how that went.',
    list: 'list_webhooks',
    get: 'get_webhook',
    create: 'create_webhook',
    update: 'update_webhook',
    columns: ['url', 'event_types', 'status', 'last_success_at'],
    secret: 'secret',
    actions: [
      { label: 'Send a test', operation: 'test_webhook' },
      {
        label: 'Rotate secret',
        operation: 'rotate_webhook_secret',
        warning: 'A new secret signs what is sent; the one before counts for a while beside it.',
        secret: 'secret',
      },
      {
        label: 'Replay',
        operation: 'replay_webhook',
        texts: REPLAY_TEXTS,
        warning: 'All events since then are sent again.',
      },
      {
        label: 'Delete',
        operation: 'delete_webhook',
        warning: 'Nothing more is sent. This cannot be undone.',
        isDanger: true,
        removes: true,
      },
    ],
    More: DeliveryLog,
  },
];
