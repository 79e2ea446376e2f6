import type { Deliveries } from '../webhooks/delivery.ts';
import { DUE, insertDeliveries } from '../webhooks/delivery-store.ts';
import { EventRecorder } from '../webhooks/record-events.ts';
import type { Access } from './access.ts';
import type { Data } from './data.ts';

export type Webhooks = ReturnType<typeof openWebhooks>;

/** Opens what makes deliveries of committed events. */
export function openWebhooks({ database, store }: Data, { directory, listeners }: Access) {
  const deliveries: Deliveries = {
    deliver: (tries) =>
      insertDeliveries(
        database,
        tries.map(({ delivery }) => ({ delivery, state: DUE })),
      ),
  };
  const recorder = new EventRecorder({ database, files: store, directory, listeners, deliveries });
  return { recorder };
}
