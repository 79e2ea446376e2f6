import type { DisabledReason } from '@parley/protocol/resources/webhook.ts';
import { audit } from '../../core/audit/audit.ts';
import { readAdmins } from '../../core/notifications/causes/waiting-work.ts';
import { notifyUsers } from '../../core/notifications/feed/notify-users.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { lockWebhookById, setDisabled } from './webhook-store.ts';

/** Disables a webhook without a caller's request, and notifies the admins of its account. */
export async function disableWebhook(
  database: Database,
  id: string,
  reason: Exclude<DisabledReason, 'requested'>,
): Promise<void> {
  await database.transaction(async (tx) => {
    const webhook = await lockWebhookById(tx, id);
    if (webhook?.status !== 'enabled') return;
    const disabled = await setDisabled(tx, webhook, reason);
    await audit(tx, {
      accountId: webhook.account_id,
      action: 'webhook.disabled',
      details: { webhook_id: id, reason },
    });
    await notifyUsers(tx, await readAdmins(tx, webhook.account_id, null), {
      account_id: webhook.account_id,
      category: 'webhook.disabled',
      title: `A webhook to ${new URL(webhook.url).host} was disabled`,
      body: TEXTS[reason],
      priority: 'high',
      sender_id: null,
      sender_type: 'system',
      resource: null,
      cause: { key: id, at: disabled.disabled_at! },
    });
  });
}

const TEXTS = {
  gone: 'Its receiver answered that it is gone (410). Enable the webhook again if that is wrong.',
  failing: 'No event could be delivered for five days. Enable the webhook again once its receiver works.',
  backlog:
    'It has too many failed deliveries, and no more are recorded. Read over REST what it missed, and make a new one.',
} as const;
