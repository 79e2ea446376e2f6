import type { Reader } from '../../platform/settings/reader.ts';
import { wholeNumber } from '../../platform/settings/values.ts';

declare module '../../core/features/node-settings.ts' {
  interface NodeSettings extends WebhookSettings {}
}

type WebhookSettings = Readonly<ReturnType<typeof readWebhookSettings>>;

export function readWebhookSettings(reader: Reader) {
  return {
    /** Days for which delivered and withdrawn deliveries are kept. */
    webhookDays: reader.read('PARLEY_WEBHOOK_DAYS', wholeNumber(1, 3_650), 30),
  };
}
