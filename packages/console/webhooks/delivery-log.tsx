import type { List } from '@parley/protocol/lists.ts';
import { DELIVERY_STATUSES, type WebhookDelivery } from '@parley/protocol/resources/webhook-delivery.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { sentenceOf } from '@parley/ui/form/labels.ts';
import { usePages } from '@parley/ui/hooks/pages.ts';
import { fullTimeOf, shortTimeOf } from '@parley/ui/text/time.ts';
import { useId, useState } from 'preact/hooks';
import { filled } from '../administration/api-document.ts';
import type { MoreProps } from '../administration/section.ts';
import { useAdministration } from '../administration/use-administration.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { OpenDelivery } from './open-delivery.tsx';
import { resultText } from './result-text.ts';

/** What was sent to a webhook, live: a delivery opens to its request and the answer to each try. */
export function DeliveryLog({ item }: MoreProps) {
  const id = useId();
  const { client } = useSignedIn();
  const { offered } = useAdministration();
  const [status, setStatus] = useState('');
  const list = offered('list_webhook_deliveries');
  const path = list && `${filled(list.path, [item.id])}${status === '' ? '' : `?status=${status}`}`;
  const { items, problem, hasMore, more, reload } = usePages(
    path ?? null,
    (at, signal) => client.fetch<List<WebhookDelivery>>(at, { signal }),
    { isLive: true },
  );
  if (list === undefined) return null;
  return (
    <section class="administration-part" aria-label={texts.webhooks.deliveries}>
      <h2>{texts.webhooks.deliveries}</h2>
      <div class="filter">
        <label for={id}>{texts.webhooks.status}</label>
        <select id={id} value={status} onChange={({ currentTarget }) => setStatus(currentTarget.value)}>
          <option value="">{texts.webhooks.all}</option>
          {DELIVERY_STATUSES.map((one) => (
            <option key={one} value={one}>
              {sentenceOf(one)}
            </option>
          ))}
        </select>
      </div>
      <Problem text={problem} />
      {items?.length === 0 && <p class="resource-list-none">{texts.webhooks.nothingSent}</p>}
      <ul class="delivery-list">
        {items?.map((delivery) => (
          <Delivery key={delivery.id} delivery={delivery} onSent={reload} />
        ))}
      </ul>
      {hasMore && <Button onClick={more}>{texts.webhooks.showMore}</Button>}
    </section>
  );
}

const TONES = { delivered: 'tag-good', failed: 'tag-bad', withdrawn: '', pending: '' } as const;

interface DeliveryProps {
  readonly delivery: WebhookDelivery;
  readonly onSent: () => Promise<void>;
}

function Delivery({ delivery, onSent }: DeliveryProps) {
  const [isOpen, setOpen] = useState(false);
  const { event_type, status, attempts, last_status_code, last_error, occurred_at } = delivery;
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span>{event_type}</span>
          <span class={`tag ${TONES[status]}`}>{sentenceOf(status)}</span>
          {attempts > 0 && <span>{resultText(last_error, last_status_code)}</span>}
          {attempts > 1 && <span>{texts.webhooks.tries(attempts)}</span>}
          <time dateTime={occurred_at} title={fullTimeOf(occurred_at)}>
            {shortTimeOf(occurred_at)}
          </time>
        </summary>
        {isOpen && <OpenDelivery delivery={delivery} onSent={onSent} />}
      </details>
    </li>
  );
}
