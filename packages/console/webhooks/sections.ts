import { isStatus, type Section } from '../administration/section.ts';

/** The receivers of events. */
export const WEBHOOK_SECTIONS: readonly Section[] = [
  {
    slug: 'webhooks',
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
    parts: [
      {
        title: 'Deliveries',
        list: 'list_webhook_deliveries',
        columns: ['event_type', 'status', 'attempts', 'last_status_code', 'last_error', 'created_at'],
        actions: [
          {
            label: 'Redeliver',
            operation: 'redeliver_webhook_delivery',
            when: isStatus('delivered', 'failed'),
          },
        ],
      },
    ],
  },
];
