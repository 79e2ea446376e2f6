import type {
  WebhookDelivery,
  WebhookRequest,
  WebhookTry,
} from '@parley/protocol/resources/webhook-delivery.ts';
import { jsonText } from '@parley/ui/data/json-text.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { durationText } from '@parley/ui/text/amounts.ts';
import { fullTimeOf, timeOf } from '@parley/ui/text/time.ts';
import { useAdministration } from '../administration/use-administration.ts';
import { texts } from '../texts/texts.ts';
import { resultText } from './result-text.ts';

export interface OpenDeliveryProps {
  readonly delivery: WebhookDelivery;
  readonly onSent: () => Promise<void>;
}

/** The tries of a delivery, its request, and a button to send it again. */
export function OpenDelivery({ delivery, onSent }: OpenDeliveryProps) {
  const { offered, call } = useAdministration();
  const { isBusy, problem, run } = useAction();
  const { id, webhook_id, status, next_try_at, tries = [] } = delivery;
  const again = offered('redeliver_webhook_delivery');
  const send = async () => {
    await call(again!, { ids: [webhook_id, id] });
    await onSent();
  };
  return (
    <div class="delivery-open">
      {status === 'pending' && next_try_at !== null && <p>{texts.webhooks.nextTry(timeOf(next_try_at))}</p>}
      {again && (
        <p>
          <Button disabled={isBusy} onClick={() => run(send)}>
            {status === 'pending' ? texts.webhooks.tryNow : texts.webhooks.sendAgain}
          </Button>
        </p>
      )}
      <Problem text={problem} />
      {tries.length === 0 && <p class="value-none">{texts.webhooks.noTry}</p>}
      {tries.map((one) => (
        <Try key={one.tried_at} of={one} />
      ))}
      <Request id={id} webhookId={webhook_id} />
    </div>
  );
}

function Try({ of }: { readonly of: WebhookTry }) {
  const { tried_at, duration_ms, status_code, error, content_type, answer } = of;
  const parts = [resultText(error, status_code), durationText(duration_ms), content_type];
  return (
    <section aria-label={texts.webhooks.tryAt(timeOf(tried_at))}>
      <h3>
        <time dateTime={tried_at} title={fullTimeOf(tried_at)}>
          {timeOf(tried_at)}
        </time>
        {parts.filter((part) => part !== null).map((part) => ` · ${part}`)}
      </h3>
      {answer !== null && answer !== '' && <pre tabIndex={0}>{answer}</pre>}
    </section>
  );
}

/** The request as the next try sends it: payloads are not stored. */
function Request({ id, webhookId }: { readonly id: string; readonly webhookId: string }) {
  const { offered, call } = useAdministration();
  const operation = offered('get_webhook_request');
  const { value, problem } = useResource(
    operation === undefined ? null : id,
    async () => (await call(operation!, { ids: [webhookId, id] })) as WebhookRequest,
  );
  if (operation === undefined) return null;
  return (
    <section aria-label={texts.webhooks.request}>
      <h3>{texts.webhooks.requestNow}</h3>
      <Problem text={problem} />
      {value !== null && (
        <pre tabIndex={0}>
          {Object.entries(value.headers).map(([name, text]) => `${name}: ${text}\n`)}
          {`\n${jsonText(JSON.parse(value.body))}`}
        </pre>
      )}
    </section>
  );
}
