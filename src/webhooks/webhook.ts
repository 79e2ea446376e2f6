import type { AddressGuard } from '../outbound/address-guard.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { readOutboundUrl, targetOf } from '../outbound/outbound-url.ts';
import { invalid } from '../protocol/errors.ts';
import { type NewWebhook, URL_CHARACTERS, type Webhook } from '../protocol/resources/webhook.ts';
import { isEventFilter } from '../protocol/webhook-events.ts';
import { shownSecret } from './secrets.ts';
import type { WebhookRow } from './webhook-store.ts';

export function presentWebhook(row: WebhookRow): Webhook {
  const { previous_secret_until: until } = row;
  return {
    id: row.id,
    object: 'webhook',
    url: row.url,
    event_types: row.event_types,
    include_direct: row.include_direct,
    version: row.version,
    status: row.status,
    disabled_at: row.disabled_at,
    disabled_reason: row.disabled_reason,
    failing_since: row.failing_since,
    last_success_at: row.last_success_at,
    previous_secret_until: until !== null && Date.parse(until) > Date.now() ? until : null,
    created_by: row.created_by,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** With the secret, which is shown once. */
export function presentNewWebhook(row: WebhookRow): NewWebhook {
  return { ...presentWebhook(row), secret: shownSecret(row.secret) };
}

/**
 * Returns the URL as it is requested. Throws `validation_failed` (param url): https, or http where the operator allows the
 * host, without credentials, and no address that could not be reached anyway. Each try checks the address again.
 */
export function readWebhookUrl(text: string, guard: AddressGuard): string {
  try {
    const url = readOutboundUrl(text);
    const target = targetOf(url);
    guard.requireLiteral(target);
    if (!target.isSecure && !guard.isAllowed(target)) throw invalid('url', 'Must be an https URL.');
    url.hash = '';
    if (url.href.length > URL_CHARACTERS)
      throw invalid('url', `Must be at most ${URL_CHARACTERS} characters.`);
    return url.href;
  } catch (error) {
    if (error instanceof OutboundError) throw invalid('url', error.message);
    throw error;
  }
}

/** Throws `validation_failed` (param event_types[n]) for events that do not exist or that no webhook is sent. */
export function requireEventTypes(filters: readonly string[]): void {
  for (const [index, filter] of filters.entries()) {
    if (isEventFilter(filter)) continue;
    throw invalid(
      `event_types[${index}]`,
      `Webhooks are not sent ${filter}. Name an event of the documentation.`,
    );
  }
}
