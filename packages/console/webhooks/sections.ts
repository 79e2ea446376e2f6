import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import type { Section } from '../administration/section.ts';
import { REPLAY_TEXTS, WEBHOOK_TEXTS } from '../administration/texts/channel-texts.ts';
import { texts } from '../texts/texts.ts';
import { DeliveryLog } from './delivery-log.tsx';

/** The receivers of events. */
export const WEBHOOK_SECTIONS: readonly Section[] = [
  {
    slug: 'webhooks',
    texts: WEBHOOK_TEXTS,
    begin: () => ({ version: CURRENT_VERSION }),
    title: texts.webhooks.title,
    one: texts.webhooks.one,
    about: texts.webhooks.about,
    list: 'list_webhooks',
    get: 'get_webhook',
    create: 'create_webhook',
    update: 'update_webhook',
    columns: ['url', 'event_types', 'status', 'last_success_at'],
    secret: 'secret',
    actions: [
      { label: texts.webhooks.test, operation: 'test_webhook' },
      {
        label: texts.webhooks.rotate,
        operation: 'rotate_webhook_secret',
        warning: texts.webhooks.rotateWarning,
        secret: 'secret',
      },
      {
        label: texts.webhooks.replay,
        operation: 'replay_webhook',
        texts: REPLAY_TEXTS,
        warning: texts.webhooks.replayWarning,
      },
      {
        label: texts.webhooks.delete,
        operation: 'delete_webhook',
        warning: texts.webhooks.deleteWarning,
        isDanger: true,
        removes: true,
      },
    ],
    More: DeliveryLog,
  },
];
