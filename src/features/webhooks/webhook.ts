import { invalid } from '@parley/protocol/errors/errors.ts';
import { isEventFilter } from '@parley/protocol/event-areas.ts';
import { type NewWebhook, Webhook } from '@parley/protocol/resources/webhook.ts';
import { keptVersion } from '@parley/protocol/versions.ts';
import { shownSecret } from '../../core/events/receiver-signature.ts';
import { presentAs } from '../../core/resources/present-as.ts';
import type { AddressGuard } from '../../platform/outbound/address-guard.ts';
import { readReceiverUrl } from '../../platform/outbound/address-guard.ts';
import type { WebhookRow } from './webhook-store.ts';

export function presentWebhook(row: WebhookRow): Webhook {
  const { previous_secret_until: until } = row;
  return presentAs(Webhook, {
    ...row,
    version: keptVersion(row.version),
    previous_secret_until: until !== null && Date.parse(until) > Date.now() ? until : null,
  });
}

/** Returns a new webhook with its secret, in the form of Standard Webhooks; it is shown once. */
export function presentNewWebhook(row: WebhookRow): NewWebhook {
  return { ...presentWebhook(row), secret: shownSecret(row.secret) };
}

/** Returns the URL in the form that is requested. Throws ApiError (param url). */
export function readWebhookUrl(text: string, guard: AddressGuard): string {
  const url = readReceiverUrl(text, 'url', guard);
  url.hash = '';
  return url.href;
}

/**
 * Throws ApiError `invalid_format` or `validation_failed` (param url), or `validation_failed`
 * (param event_types[n]) for events that do not exist or go to no webhook.
 */
export function checkWebhook(
  { url, event_types: filters = [] }: { readonly url?: string; readonly event_types?: readonly string[] },
  guard: AddressGuard,
): void {
  if (url !== undefined) readWebhookUrl(url, guard);
  for (const [index, filter] of filters.entries()) {
    if (isEventFilter(filter)) continue;
    throw invalid(
      `event_types[${index}]`,
      `Webhooks are not sent ${filter}. Name an event of the documentation.`,
    );
  }
}
